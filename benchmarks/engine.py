"""What the engine of studies costs: beside the bare probe, for 1,000 tiny cells, with two workers, and in memory.

python benchmarks/engine.py --work SCRATCH [--steps cpu overhead tiny workers memory calls simulate] [--out FILE]

Every figure is a ratio or a median within one call of this script: the pairs are made here, every study has a process and a
cache of its own. Results are written after each step; a step whose results are in FILE is not repeated. `simulate` needs
`cpu`: it plays the scheduling of the Ray engine (the same code) with those costs, up to 1,000 workers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from engine_simulation import simulate
from facts import machine
from memory import write_pairs

TINY = Path(__file__).parent.parent / "tests" / "golden" / "models" / "tiny-bert-cased"
PROBE = """
import sys, time, json
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.models import load_any
from tiltmeter.probes import LikelihoodProbe
from tiltmeter.storage.observations import ObservationCache
model, benchmark = load_any(sys.argv[1], device="cpu"), load_benchmark(sys.argv[2])
begun = time.perf_counter()
probe = LikelihoodProbe(model, ObservationCache(None, {}))
n = sum(len(block.items) for block in probe.observe(benchmark.asked_items, ["unmasked"]))
print(json.dumps({"items": n, "seconds": time.perf_counter() - begun}))
"""


def run(command: list[str], cache: Path, threads: int = 1) -> tuple[str, dict[str, float]]:
    """What a command said, its seconds (by the clock and of processors), and the peak memory of it and of its children."""
    env = os.environ | {"TILTMETER_CACHE": str(cache), "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    begun, used, peaks = time.perf_counter(), processor_seconds(), {"driver": 0.0, "workers": 0.0}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None:
        peaks["driver"] = max(peaks["driver"], peak_mb(process.pid))
        for child in children(process.pid):
            peaks["workers"] = max(peaks["workers"], peak_mb(child))
        time.sleep(0.05)
    assert process.stdout is not None
    said = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{said[-2000:]}")
    seconds = {"seconds": time.perf_counter() - begun, "processor_seconds": processor_seconds() - used}
    return said, {**seconds, **{f"{who}_mb": mb for who, mb in peaks.items()}}


def processor_seconds() -> float:
    """What the processes that this one started, and theirs, have used until their end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mb(pid: int) -> float:
    """The most that a process held so far, as the kernel counted it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Bench:
    """A scratch folder in which studies are made."""

    def __init__(self, work: Path, model: str, size: float) -> None:
        self.work, self.model, self.size, self.number = work, model, size, 0

    def study(self, text: str, *, workers: int = 1) -> dict[str, Any]:
        """Runs a study of its own; its figures, and the seconds of its cells."""
        self.number += 1
        folder = self.work / f"study-{self.number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "study.toml").write_text(text)
        command = [sys.executable, "-m", "tiltmeter", "experiment", "run", str(folder / "study.toml")]
        called = time.time()
        _, figures = run([*command, "--workers", str(workers), "--threads", "1"], folder / "cache")
        states = [json.loads(path.read_text()) for path in (folder / "study" / "state" / "cells").glob("*.json")]
        assert all(state["status"] == "done" for state in states), states
        shutil.rmtree(folder)
        begun = min(state["started"] for state in states)
        ended = max(state["started"] + state["seconds"] for state in states)
        seconds = [state["seconds"] for state in states]
        return {**figures, "cells": len(states), "of_cells": seconds, "start": begun - called, "span": ended - begun}

    def many(self, n: int) -> int:
        """So many, or fewer in a trial of this script."""
        return max(4, round(n * self.size))

    def pairs(self, n: int) -> Path:
        path = self.work / f"pairs-{n}.csv"
        if not path.exists():
            write_pairs(path, n)
        return path


def study_text(models: list[tuple[str, str]], asks: list[tuple[str, Path]], resamples: int = 100) -> str:
    """A study of these models (name, folder) and questions (name, file), by one scorer."""
    lines = ["models = [" + ", ".join(f'{{name = "{name}", from = "{folder}"}}' for name, folder in models) + "]"]
    lines.append('measures = ["bias-score"]\nby = []')
    for name, path in asks:
        lines.append(f'[[ask]]\nname = "{name}"\nbenchmarks = ["{path}"]')
    lines.append(f'[options]\nscorers = ["aul"]\n[settings]\nresamples = {resamples}\n[run]\ndevice = "cpu"')
    return "\n".join(lines) + "\n"


def overhead(bench: Bench, repeat: int) -> dict[str, Any]:
    """One large cell: the bare probe (no cache, no scores, no files) and the same in a study, in turn."""
    n = bench.many(6000)
    path = bench.pairs(n)
    bare, cell, whole, start = [], [], [], []
    for _ in range(repeat):
        said, _ = run([sys.executable, "-c", PROBE, bench.model, str(path)], bench.work / "none")
        bare.append(json.loads(said.splitlines()[-1])["seconds"])
        made = bench.study(study_text([("m", bench.model)], [("large", path)]))
        cell.append(made["of_cells"][0])
        whole.append(made["seconds"])
        start.append(made["start"])
    ratios = [one / other for one, other in zip(bare, cell, strict=True)]
    return {
        "items": n,
        "bare_probe_seconds": bare,
        "cell_seconds": cell,
        "command_seconds": whole,
        "start_seconds": start,
        "throughput_of_bare_probe": {"each": ratios, "median": statistics.median(ratios)},
    }


def tiny(bench: Bench, repeat: int) -> dict[str, Any]:
    """1,000 cells of four pairs each: two tiny models, 500 questions; two workers."""
    path = bench.pairs(4)
    models = [(f"m{n}", str(TINY)) for n in range(2)]
    made = [
        bench.study(study_text(models, [(f"q{n}", path) for n in range(bench.many(500))]), workers=2) for _ in range(repeat)
    ]
    return {
        "cells": made[0]["cells"],
        "command_seconds": [one["seconds"] for one in made],
        "from_first_to_last_cell_seconds": [one["span"] for one in made],
        "milliseconds_of_a_cell": [1000 * statistics.median(one["of_cells"]) for one in made],
    }


def workers(bench: Bench, repeat: int) -> dict[str, Any]:
    """Eight models with one cell each, on more and more workers with one thread each, as far as there are cores."""
    text = study_text([(f"m{n}", bench.model) for n in range(8)], [("medium", bench.pairs(bench.many(1500)))])
    counts = [count for count in (1, 2, 4, 8) if count <= max(2, len(os.sched_getaffinity(0)))]
    made: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    for _ in range(repeat):
        for count in counts:
            made[count].append({"load_before": os.getloadavg()[0], **bench.study(text, workers=count)})
    seconds = {count: [one["seconds"] for one in some] for count, some in made.items()}
    spans = {count: [one["span"] for one in some] for count, some in made.items()}
    return {
        "command_seconds": seconds,
        "from_first_to_last_cell_seconds": spans,
        "processor_seconds": {count: [one["processor_seconds"] for one in some] for count, some in made.items()},
        "load_before": {count: [one["load_before"] for one in some] for count, some in made.items()},
        "speedup": {count: _median_ratio(seconds[1], of) for count, of in seconds.items()},
        "speedup_from_first_to_last_cell": {count: _median_ratio(spans[1], of) for count, of in spans.items()},
    }


def _median_ratio(alone: list[float], together: list[float]) -> float:
    return statistics.median(alone) / statistics.median(together)


def memory(bench: Bench, repeat: int) -> dict[str, Any]:
    """Peak memory of driver and worker at 1×, 4×, 16×, 64× items of one cell, and 1×, 4×, 16× cells of one model."""
    found: dict[str, Any] = {"items": {}, "cells": {}}
    for times in (1, 4, 16, 64):
        n = bench.many(1000) * times
        found["items"][n] = _peaks(bench.study(study_text([("m", str(TINY))], [("large", bench.pairs(n))])))
    for times in (1, 4, 16):
        asks = [(f"q{n}", bench.pairs(bench.many(400))) for n in range(8 * times)]
        found["cells"][8 * times] = _peaks(bench.study(study_text([("m", str(TINY))], asks)))
    return found


def calls(bench: Bench, repeat: int) -> dict[str, Any]:
    """How long a driver needs for an actor's call that does nothing, one at a time for each of two actors."""
    try:
        import ray
    except ImportError:
        return {}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")

    class Idle:
        def nothing(self) -> None:
            pass

    actors = [ray.remote(num_cpus=1)(Idle).remote() for _ in range(2)]
    ray.get([actor.nothing.remote() for actor in actors])
    found = []
    for _ in range(repeat):
        begun, running = time.perf_counter(), {actor.nothing.remote(): actor for actor in actors}
        for _ in range(2000):
            (ended,), _ = ray.wait(list(running), num_returns=1)
            actor = running.pop(ended)
            ray.get(ended)
            running[actor.nothing.remote()] = actor
        found.append((time.perf_counter() - begun) / 2)
    ray.shutdown()
    return {"milliseconds_of_a_call": found}


def _peaks(made: dict[str, Any]) -> dict[str, float]:
    return {name: round(made[name], 1) for name in ("driver_mb", "workers_mb")}


def cpu(bench: Bench, repeat: int) -> dict[str, Any]:
    """The same by processor seconds, which is what a busy machine can measure."""
    script = Path(__file__).with_name("engine_cpu.py")
    said, _ = run([sys.executable, str(script), bench.model, str(bench.many(600)), str(bench.work / "cpu")], bench.work)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


STEPS: dict[str, Callable[[Bench, int], dict[str, Any]]] = {
    "cpu": cpu,
    "overhead": overhead,
    "tiny": tiny,
    "workers": workers,
    "memory": memory,
    "calls": calls,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default="plumb-mlm")
    parser.add_argument("--steps", nargs="+", default=[*STEPS, "simulate"], choices=[*STEPS, "simulate"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--size", type=float, default=1.0, help="less for a trial of this script")
    parser.add_argument("--out", type=Path, default=Path("engine.json"))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    results = json.loads(given.out.read_text()) if given.out.exists() else {"machine": machine(1), "model": given.model}
    bench = Bench(given.work.resolve(), given.model, given.size)
    for step in given.steps:
        if step == "simulate":
            results[step] = simulate(results)
        elif step not in results:
            results[step] = STEPS[step](bench, given.repeat)
        given.out.write_text(json.dumps(results, indent=1) + "\n")
        print(step, json.dumps(results[step])[:600], flush=True)


if __name__ == "__main__":
    main()
