"""Where one hostile try runs, and the oracle that judges it.

A try is good if the command ends with exit code 0 and a right answer, or with exit code 2 and one line. Bad are: an
exception (on the command line a traceback), more than `LONGEST` seconds, a number that changed, a file lost, changed or
made outside of the output and the cache.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd

from tiltmeter.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS = GOLDEN / "models"
LONGEST = 60
CHECKED = "value", "low", "high", "p", "n", "n_missing"


class Bad(BaseException):
    """Something that must never happen. No `except Exception` of the tool's may take it for an ordinary error."""


@dataclass
class Tally:
    """What came of the tries of one kind."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    @property
    def tries(self) -> int:
        """How many there were."""
        return self.outcomes.total()


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    def judge(self) -> str:
        """accepted or refused; anything else is bad."""
        if self.code == 0:
            return "accepted"
        lines = [line for line in self.err.splitlines() if not line.startswith("Warning: ")]
        usage = bool(lines) and lines[0].startswith("Usage: ")
        if self.code == 2 and (usage or (len(lines) == 1 and _is_error(lines[0]))):
            return "refused"
        raise Bad(f"exit code {self.code} with {self.err[-600:]!r}")


def _is_error(line: str) -> bool:
    """A message, or with --json an object with the code of the error and the message."""
    if not line.startswith("{"):
        return line.startswith("Error: ") and len(line) > 10
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return all(isinstance(told.get(name), str) and told[name] for name in ("error", "message"))


class Sandbox:
    """A folder with input, output, cache and home; whatever else appears or changes is noticed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("input", "output", "home"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.input, self.output, self.cache = folder / "input", folder / "output", folder / "cache"

    def call(self, *words: str) -> Said:
        """Runs a command in this process, as the command line would."""
        before = self._outside()
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with self._environment(), alarm(LONGEST), redirect_stdout(out), redirect_stderr(err):
            sys.argv = ["tiltmeter", *words]
            try:
                main()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else int(left.code is not None)
        if self._outside() != before:
            changed = set(self._outside().items()) ^ set(before.items())
            raise Bad(f"files outside of the output changed: {sorted(str(path) for path, _ in changed)}")
        return Said(code, out.getvalue(), err.getvalue())

    @contextmanager
    def _environment(self) -> Iterator[None]:
        before, words, place = dict(os.environ), sys.argv, Path.cwd()
        os.environ |= {"TILTMETER_CACHE": str(self.cache), "HOME": str(self.folder / "home"), "HF_HUB_OFFLINE": "1"}
        os.environ["MPLCONFIGDIR"] = str(self.output / "matplotlib")  # where it keeps what it knows of fonts
        os.chdir(self.input)
        try:
            yield
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)
            sys.argv = words

    def _outside(self) -> dict[Path, str]:
        """Everything but the output and the cache, by content."""
        found = {}
        for top in (self.folder, self.input, self.folder / "home"):
            for path in top.iterdir():
                if path not in (self.output, self.cache, self.input, self.folder / "home"):
                    plain = path.is_file() and not path.is_symlink()
                    found[path] = hashlib.sha256(path.read_bytes()).hexdigest() if plain else "other"
        return found


@contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """Ends what hangs."""

    def ring(_: int, __: FrameType | None) -> None:
        raise Bad(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGPROF, ring), signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # computing; the clock of a busy machine runs faster
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


@contextmanager
def models_stay_loaded() -> Iterator[None]:
    """For tries that are not about models: each is read from its folder once."""
    from tiltmeter.execution import worker

    real = worker.load_any
    kept = cache(real)
    worker.load_any = lambda name, **_: kept(str(name))  # type: ignore[assignment]
    try:
        yield
    finally:
        worker.load_any = real


Try = Callable[[Sandbox, random.Random], str]
"""One hostile try: what came of it, or an exception."""


def repeat(kind: str, one: Try, tries: int, seed: int, **material: Any) -> Tally:
    """Tries of one kind, each in a sandbox of its own and from a random stream of its own: one can be repeated alone."""
    tally = Tally(kind)
    for number in range(tries):
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            tally.outcomes[one(Sandbox(folder), random.Random(f"{kind} {seed} {number}"), **material)] += 1
        except (Exception, Bad) as error:
            tally.outcomes["bad"] += 1
            tally.bad.append(f"{kind}, seed {seed}, try {number}: {type(error).__name__}: {str(error)[:800]}")
        finally:
            _removed(folder)
    return tally


def _removed(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def numbers_of(path: Path) -> pd.DataFrame:
    """The numbers of a run, to compare."""
    return pd.read_csv(path / "estimates.csv")


def same_numbers(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Raises where a number changed."""
    columns = ["model", "benchmark", "scorer", "measure", "by", "group", *CHECKED]
    try:
        pd.testing.assert_frame_equal(one[columns], other[columns], rtol=1e-4, atol=1e-4)
    except (AssertionError, KeyError) as error:
        raise Bad(f"a number changed: {' '.join(str(error).split())[:400]}") from None
