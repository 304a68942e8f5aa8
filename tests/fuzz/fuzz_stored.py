"""Damage to what is stored: a run folder, or the cache, by flipped bits, cuts, zeros, swapped and missing files."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from fuzz_inputs import BERT, QUICK, ROWS, SLOTS, TESTS, dumped
from fuzz_mutations import damage_folder, damaged_json
from fuzz_sandbox import Bad, Sandbox, numbers_of, same_numbers

COMMANDS = (
    ("estimate", "RUN", "--resamples", "100", "--json"),
    ("estimate", "RUN", "--resamples", "100", "--json"),
    ("report", "RUN", "-o", "OUT/report.html"),
    ("table", "estimates", "RUN", "-o", "OUT/table.md"),
    ("figure", "estimates", "RUN", "-o", "OUT/figure.svg"),
)


@dataclass(frozen=True)
class Stored:
    """A whole run of all families, the cache it left, and the command."""

    folder: Path
    numbers: pd.DataFrame
    answers: dict[tuple[str, ...], str]

    @property
    def words(self) -> tuple[str, ...]:
        """The command, without the output."""
        return (
            "run",
            "-m",
            BERT,
            "-b",
            "mine.csv",
            "-b",
            "slots.jsonl",
            "-b",
            "tests.json",
            "-s",
            "aul",
            "-s",
            "cps",
            *QUICK,
        )

    def bundled(self) -> Path:
        """The run as a bundle."""
        path = self.folder / "output" / "audit.zip"
        if Sandbox(self.folder).call("bundle", str(self.folder / "output" / "run"), "-o", str(path)).judge() != "accepted":
            raise Bad("a good run was not bundled")
        return path


@contextmanager
def stored() -> Iterator[Stored]:
    """Makes the run, once for many tries."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-stored-"))
    try:
        sandbox = Sandbox(folder)
        fill(sandbox.input)
        made = Stored(folder, pd.DataFrame(), {})
        if sandbox.call(*made.words, "-o", str(sandbox.output / "run")).judge() != "accepted":
            raise Bad("a good run was refused")
        run = str(sandbox.output / "run")
        answers = {
            words: sandbox.call(*(run if word == "RUN" else word for word in words)).out
            for words in set(COMMANDS)
            if "--json" in words
        }
        yield Stored(folder, numbers_of(sandbox.output / "run"), answers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fill(folder: Path) -> None:
    """The benchmarks of the run."""
    pd.DataFrame(ROWS).to_csv(folder / "mine.csv", index=False)
    (folder / "slots.jsonl").write_bytes(b"\n".join(map(dumped, SLOTS)))
    (folder / "tests.json").write_bytes(dumped(TESTS))


def run_folder(sandbox: Sandbox, rng: random.Random, made: Stored) -> str:
    """A damaged run folder: refused by name, or what is read of it is as it was."""
    run = sandbox.output / "run"
    shutil.copytree(made.folder / "output" / "run", run)
    files = sorted(path for path in run.rglob("*") if path.is_file())
    if rng.random() < 0.2:  # edited by hand, and still JSON
        import json

        path = run / "manifest.json"
        path.write_bytes(dumped(damaged_json(json.loads(path.read_text()), rng)))
        done = "edited manifest.json"
    else:
        done = damage_folder(files, rng)
    words = rng.choice(COMMANDS)
    said = sandbox.call(*(str(run) if word == "RUN" else word.replace("OUT", str(sandbox.output)) for word in words))
    verdict = said.judge()
    if verdict == "accepted" and "--json" in words and said.out != made.answers[words]:
        raise Bad(f"after '{done}' {words[0]} gave other numbers")
    if verdict == "refused" and str(run) not in said.err:
        raise Bad(f"after '{done}' the message does not name the place: {said.err!r}")
    return verdict


def cache(sandbox: Sandbox, rng: random.Random, made: Stored) -> str:
    """A damaged cache: the same command gives the same numbers."""
    shutil.copytree(made.folder / "cache", sandbox.cache)
    fill(sandbox.input)
    files = sorted(path for path in sandbox.cache.rglob("*") if path.is_file())
    if rng.random() < 0.5:  # else the cells answer before anything else is read
        shutil.rmtree(sandbox.cache / "cells")
        files = [path for path in files if "cells" not in path.parts]
    for _ in range(rng.randint(1, 3)):
        files = [path for path in files if path.is_file()]
        damage_folder(files, rng)
    verdict = sandbox.call(*made.words, "-o", str(sandbox.output / "run")).judge()
    if verdict == "accepted":
        same_numbers(made.numbers, numbers_of(sandbox.output / "run"))
    return verdict
