"""The whole command in ways that differ in one thing, and its seconds stage by stage: what `causal_gpu.py` compares."""

import csv
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PYTHON_KEEPS = {"PYTHONDONTWRITEBYTECODE": ""}
"""Python keeps what it compiles, as it does for installed packages."""
PROFILED = """
import cProfile, pstats
from tiltmeter.cli import main
profile = cProfile.Profile()
try:
    profile.runcall(main)
finally:
    for order in ("tottime", "cumulative"):
        pstats.Stats(profile).sort_stats(order).print_stats(70)
"""
"""The command line under a profiler, which prints the functions that take longest."""
CLOCK = """
import atexit, sys, time
print("begun", time.time(), file=sys.stderr)
atexit.register(lambda: print("ended", time.time(), file=sys.stderr, flush=True))
"""
"""When Python has started, and when it begins to end: what is before and behind is in no timing of the command itself."""
MAPPED = """
from threading import Thread
from safetensors import safe_open
from tiltmeter.models import early_weights
def read_all(self):
    found = {}
    def read(path):
        with safe_open(path, framework="pt", device=self.device) as file:
            found.update({name: file.get_tensor(name) for name in file.keys()})
    threads = [Thread(target=read, args=(path,)) for path in self.files]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return found
early_weights.Early._read_all = read_all
"""
UNAWAITED = """
from tiltmeter.models import early_weights
begin = early_weights.begin
early_weights.begin = lambda files, device, started=None: begin(files, device)
"""
COLLECTED = """
import atexit, gc
from contextlib import nullcontext
from tiltmeter.models import pretrained
from tiltmeter.storage import garbage
garbage.collect_less, pretrained.paused_collector = lambda: atexit.register(gc.freeze), nullcontext
"""
EMPTIED = """
from threading import Thread
from tiltmeter.execution import inline_engine
go = inline_engine.go
def going(*words):
    go(*words)
    import torch
    Thread(target=torch.cuda.empty_cache).start()
inline_engine.go = going
"""


@dataclass(frozen=True)
class Variant:
    """Code that runs before the command line, and variables of its environment."""

    code: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


READERS = "from tiltmeter.models import early_weights; early_weights.READERS = "
VARIANTS = {
    "weights read late": Variant("from tiltmeter.models import early_weights; early_weights.begin = lambda *_: None"),
    "GPU started late": Variant("from tiltmeter.models import pretrained; pretrained.start_device = lambda *_: None"),
    "products not started": Variant("from tiltmeter.models import loading; loading.start_products = lambda *_: None"),
    "logits not read early": Variant("from tiltmeter.models import placement; placement._read_logits = lambda *_: None"),
    "weights mapped": Variant(MAPPED),
    "driver not waited for": Variant(UNAWAITED),
    "weights mapped, driver not waited for": Variant(MAPPED + UNAWAITED),
    "garbage collected": Variant(COLLECTED),
    "as before": Variant(MAPPED + UNAWAITED + COLLECTED),
    "one reader": Variant(f"{READERS}1"),
    "two readers": Variant(f"{READERS}2"),
    "eight readers": Variant(f"{READERS}8"),
    "one thread for estimates": Variant("from tiltmeter.families.kit import questions; questions.MOST_THREADS = 1"),
    "one thread for BLAS": Variant(environment={"OPENBLAS_NUM_THREADS": "1"}),
    "GPU emptied before estimates": Variant(EMPTIED),
    "kernels loaded at once": Variant(environment={"CUDA_MODULE_LOADING": "EAGER"}),
}
"""The command in other ways. `as before` lacks all changes since the third visit but the identity that is computed once, and
the first reading of logits."""


def whole_command(
    folder: Path, options: Sequence[str], out: Path, until: float, variant: Variant | None = None, log: Path | None = None
) -> dict[str, Any]:
    """`tiltmeter run` without stored answers; the first time it hashes the weights, too.

    Args:
        folder: The model.
        options: Benchmark and other options of the command.
        out: The run folder.
        until: When the visit is over, by `time.perf_counter`.
        variant: A way that differs; None for the command as it is.
        log: Where a profile is written: the command then runs under a profiler.
    """
    variant = variant or Variant()
    body = PROFILED if log else "from tiltmeter.cli import main\nmain()\n"
    words = ["run", "-m", str(folder), "-o", str(out), "--no-cache", "--timings", *options]
    cache = {"TILTMETER_CACHE": str(folder.parent / "cache")}
    began, clock = time.perf_counter(), time.time()
    done = subprocess.run(
        [sys.executable, "-c", f"{CLOCK}\n{variant.code}\n{body}", *words], check=False, capture_output=True, text=True,
        env={**os.environ, **PYTHON_KEEPS, **cache, **variant.environment}, timeout=max(5.0, until - began),
    )  # fmt: skip
    found: dict[str, Any] = {"seconds": round(time.perf_counter() - began, 2), "rc": done.returncode}
    if log:
        log.write_text(done.stdout, "utf-8")
    if done.returncode:
        return found | {"stderr": done.stderr[-1500:]}
    times = dict(line.split() for line in done.stderr.splitlines() if line.startswith(("begun ", "ended ")))
    rows = csv.DictReader((out / "estimates.csv").read_text("utf-8").splitlines())
    values = {
        row["scorer"]: float(row["value"]) for row in rows if row["measure"] == "mean_preference" and row["by"] == "all"
    }
    timings = json.loads((out / "manifest.json").read_text("utf-8")).get("timings")
    begun, ended = float(times["begun"]) - clock, float(times["ended"]) - clock
    rest = {"start": begun, "other": ended - begun - sum(timings.values()), "end": found["seconds"] - ended}
    return found | {"timings": timings | {name: round(taken, 3) for name, taken in rest.items()}, "values": values}


def medians(turns: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Median seconds of each stage and of the whole, by variant, of those turns that did not fail."""
    found: dict[str, dict[str, float]] = {}
    for name, all_turns in turns.items():
        whole = [turn for turn in all_turns if "timings" in turn]
        stages = dict.fromkeys(stage for turn in whole for stage in turn["timings"])
        if whole:
            found[name] = {stage: _median(turn["timings"].get(stage, 0.0) for turn in whole) for stage in stages}
            found[name]["seconds"] = _median(turn["seconds"] for turn in whole)
    return found


def stage_table(stages: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Lines of a table: a row for each stage, a column for each variant."""
    rows = [stage for stage in dict.fromkeys(stage for column in stages.values() for stage in column) if stage != "seconds"]
    yield f"{'median seconds':16}" + "".join(f"{name[:24]:>26}" for name in stages)
    for stage in [*rows, "seconds"]:
        yield f"{stage:16}" + "".join(f"{column.get(stage, 0.0):26.2f}" for column in stages.values())


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 3)
