"""Two experiments with different questions on one storage or output, started together: neither takes the other's numbers."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from fuzz_inputs import BERT, GPT2
from fuzz_kills import PATIENCE, environment
from fuzz_sandbox import Bad, Sandbox, numbers_of, same_numbers

LIMITS = (12, 6)
PLAN = """models = [{{name = "bert", from = "{bert}"}}, {{name = "gpt2", from = "{gpt2}"}}]
benchmarks = ["starter-pairs"]
output = "{output}"
storage = "{storage}"

[run]
limit = {limit}

[settings]
resamples = 100
"""
Alone = dict[int, pd.DataFrame]


def begin(sandbox: Sandbox, limit: int, output: Path, storage: Path) -> subprocess.Popen[str]:
    """An experiment of so many pairs."""
    plan = sandbox.input / f"plan-{limit}.toml"
    plan.write_text(PLAN.format(bert=BERT, gpt2=GPT2, limit=limit, output=output, storage=storage), "utf-8")
    words = [sys.executable, "-m", "tiltmeter", "experiment", "run", str(plan), "--workers", "1"]
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(
        words, cwd=sandbox.input, env=environment(sandbox), stdin=quiet, stdout=quiet, stderr=pipe, text=True
    )


@contextmanager
def alone() -> Iterator[Alone]:
    """The numbers of each experiment by itself."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-alone-"))
    try:
        sandbox, numbers = Sandbox(folder), {}
        for limit in LIMITS:
            output = sandbox.output / str(limit)
            _, errors = (process := begin(sandbox, limit, output, output / "state")).communicate(timeout=PATIENCE)
            if process.returncode:
                raise Bad(f"a good experiment failed: {errors}")
            numbers[limit] = numbers_of(output / "run")
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def together(sandbox: Sandbox, rng: random.Random, numbers: Alone) -> str:
    """Start both within a second, in either order; each has its own numbers, or was refused."""
    shared = rng.choice(("storage", "output"))
    limits = rng.sample(LIMITS, len(LIMITS))
    outputs = {limit: sandbox.output / (str(limit) if shared == "storage" else "both") for limit in limits}
    processes = {}
    for limit in limits:
        processes[limit] = begin(sandbox, limit, outputs[limit], sandbox.output / "storage")
        time.sleep(rng.choice((0.0, rng.uniform(0, 1.0))))
    said = {limit: process.communicate(timeout=PATIENCE)[1] for limit, process in processes.items()}
    ended = {limit: process.returncode for limit, process in processes.items()}
    for limit, code in ended.items():
        if code not in (0, 2) or "Traceback" in said[limit]:
            raise Bad(f"{shared}: limit {limit} ended with {code}: {said[limit][-600:]}")
    if not any(code == 0 for code in ended.values()):
        raise Bad(f"{shared}: both were refused: {list(said.values())}")
    for limit, output in outputs.items():
        if shared == "storage" and ended[limit] == 0:
            same_numbers(numbers[limit], numbers_of(output / "run"))
    if shared == "output":
        _check_shared(sandbox.output / "both" / "run", numbers)
    return f"one {shared}, {sum(code == 0 for code in ended.values())} finished"


def _check_shared(run: Path, numbers: Alone) -> None:
    """The run folder is of one of the experiments: its manifest and its numbers agree."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    limit = int(manifest["asked"]["limit"])
    found = numbers_of(run)
    if found["n"].max() > limit:
        raise Bad(f"the manifest says limit {limit}, and n is {found['n'].max()}")
    same_numbers(numbers[limit], found)
