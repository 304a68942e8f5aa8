"""Kills: a run or an experiment is killed at a random moment; the same command then gives the same numbers, and leaves
nothing. Of an experiment the command alone is killed, or its workers with it.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from fuzz_inputs import BERT, GPT2, QUICK, ROWS
from fuzz_sandbox import GOLDEN, Bad, Sandbox, numbers_of, same_numbers

SLOTS = str(GOLDEN / "data" / "slots.jsonl")
RUNS = {
    "masked": ("-m", BERT, "-b", "mine.csv", "--batch-tokens", "100"),
    "causal": ("-m", GPT2, "-b", "mine.csv", "--batch-tokens", "100"),
    "slots": ("-m", BERT, "-b", SLOTS, "--batch-tokens", "200"),
    "association": ("-m", BERT, "-b", "seat", "--limit", "2", "--batch-tokens", "200"),
}
EXPERIMENT = "experiment"
KINDS = (*RUNS, EXPERIMENT)
PLAN = f"""models = [{{name = "bert", from = "{BERT}"}}, {{name = "gpt2", from = "{GPT2}"}}]
benchmarks = ["mine.csv", "starter-pairs"]
output = "OUTPUT"

[run]
limit = 8
batch_tokens = 100

[settings]
resamples = 100
"""
PATIENCE = 300


@dataclass(frozen=True)
class Whole:
    """A run that nobody killed: its numbers, and how long it took."""

    numbers: pd.DataFrame
    seconds: float


def command(sandbox: Sandbox, kind: str) -> list[str]:
    """The command. Both kinds write their run folder to the same place."""
    if kind == EXPERIMENT:
        (sandbox.input / "plan.toml").write_text(PLAN.replace("OUTPUT", str(sandbox.output)), "utf-8")
        return ["experiment", "run", "plan.toml", "--workers", "2"]
    return ["run", *RUNS[kind], "-o", str(sandbox.output / "run"), *QUICK]


def environment(sandbox: Sandbox) -> dict[str, str]:
    """The environment of a command in a sandbox."""
    return os.environ | {"TILTMETER_CACHE": str(sandbox.cache), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def begin(sandbox: Sandbox, kind: str) -> subprocess.Popen[bytes]:
    """The command in a process group of its own."""
    words = [sys.executable, "-m", "tiltmeter", *command(sandbox, kind)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        words, cwd=sandbox.input, env=environment(sandbox), stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    """How it ended; hanging is bad."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Bad(f"no end within {PATIENCE} s") from None


def prepared(sandbox: Sandbox) -> Sandbox:
    """With twelve pairs."""
    pd.DataFrame([row | {"id": f"{row['id']}-{n}"} for n in range(2) for row in ROWS]).to_csv(
        sandbox.input / "mine.csv", index=False
    )
    return sandbox


@contextmanager
def whole_runs() -> Iterator[dict[str, Whole]]:
    """What the runs give when nobody kills them."""
    folder, runs = Path(tempfile.mkdtemp(prefix="fuzz-whole-")), {}
    try:
        for kind in KINDS:
            sandbox = prepared(Sandbox(folder / kind))
            start = time.monotonic()
            if ended(begin(sandbox, kind)) != 0:
                raise Bad(f"a good {kind} run failed")
            runs[kind] = Whole(numbers_of(sandbox.output / "run"), time.monotonic() - start)
        yield runs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kill(sandbox: Sandbox, rng: random.Random, runs: dict[str, Whole]) -> str:
    """One to three kills, then the same command to its end. Sometimes an earlier run lies there, which must survive."""
    prepared(sandbox)
    kind = rng.choice(KINDS)
    run = sandbox.output / "run"
    earlier = rng.random() < 0.3 and ended(begin(sandbox, kind)) == 0
    kept = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} if earlier else {}
    if earlier:  # nothing but the run folder, so that there is work to kill
        shutil.rmtree(sandbox.cache)
        shutil.rmtree(sandbox.output / "state", ignore_errors=True)
    kills = 0
    for _ in range(rng.randint(1, 3)):
        process = begin(sandbox, kind)
        time.sleep(rng.uniform(0.1, 0.9) * runs[kind].seconds)
        if rng.random() < 0.5:
            process.kill()  # workers go on for a moment, and the next command meets them
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        kills += ended(process) == -signal.SIGKILL
        whole = {path: path.read_bytes() for path in kept if path.is_file()}
        if earlier and kills and set(whole) != set(kept):
            raise Bad(f"a kill took files of the earlier {kind} run")
    if ended(begin(sandbox, kind)) != 0:
        raise Bad(f"after {kills} kills the {kind} run failed")
    same_numbers(runs[kind].numbers, numbers_of(run))
    left = [
        path for path in sandbox.folder.rglob("*") if path.name.endswith((".tmp", ".old")) or path.parent.name == "parts"
    ]
    known = {run} | ({sandbox.output / "state", sandbox.output / "logs"} if kind == EXPERIMENT else set())
    beside = [path for path in sandbox.output.iterdir() if path not in known]
    if left or beside:
        raise Bad(f"after {kills} kills of {kind} there is left: {[path.name for path in (*left, *beside)][:5]}")
    return f"{kind}, {kills} killed"
