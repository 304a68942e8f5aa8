"""What a cell costs beside the bare probe, in processor seconds of one thread: they hardly depend on what else runs here.

python benchmarks/engine_cpu.py MODEL PAIRS SCRATCH: prints JSON. `start` is what a worker needs to import and to load.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
REPEAT, TINY_CELLS = 3, 40


def main() -> None:
    from engine import TINY, study_text
    from memory import write_pairs
    from tiltmeter.benchmarks import load_benchmark
    from tiltmeter.execution import plan_cells, read_experiment
    from tiltmeter.execution.worker import Worker
    from tiltmeter.probes import LikelihoodProbe
    from tiltmeter.storage.observations import ObservationCache

    model, n, work = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).resolve()
    os.environ["TILTMETER_CACHE"] = str(work / "cache")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    write_pairs(work / "large.csv", n)
    write_pairs(work / "tiny.csv", 4)
    (work / "large.toml").write_text(study_text([("m", model)], [(f"q{k}", work / "large.csv") for k in range(REPEAT)]))
    (work / "tiny.toml").write_text(
        study_text([("m", str(TINY))], [(f"q{k}", work / "tiny.csv") for k in range(TINY_CELLS)])
    )
    now = time.process_time

    planned = plan_cells(read_experiment(work / "large.toml"))
    large = Worker(planned.experiment, "m", planned.cells)
    assert large.prepare() is None
    start, bare, cell = now(), [], []
    items = load_benchmark(str(work / "large.csv")).asked_items

    def probe() -> float:
        begun = now()
        seen = LikelihoodProbe(large.model, ObservationCache(None, {})).observe(items, ["unmasked"])
        assert sum(len(block.items) for block in seen) == n
        return now() - begun

    probe()  # the first pass of a model is slower than the others
    for one in planned.cells:
        bare.append(probe())
        shutil.rmtree(work / "cache" / "observations", ignore_errors=True)
        begun = now()
        assert large.make(one).status == "done"  # type: ignore[union-attr]
        cell.append(now() - begun)

    begun = now()
    planned = plan_cells(read_experiment(work / "tiny.toml"))
    planning = now() - begun
    tiny = Worker(planned.experiment, "m", planned.cells)
    assert tiny.prepare() is None
    tiny.make(planned.cells[0])
    begun = now()
    assert all(tiny.make(one).status == "done" for one in planned.cells[1:])  # type: ignore[union-attr]
    each = (now() - begun) / (TINY_CELLS - 1)
    ratios = [one / other for one, other in zip(bare, cell, strict=True)]
    found = {
        "items": n,
        "start_seconds": start,
        "bare_probe_seconds": bare,
        "cell_seconds": cell,
        "throughput_of_bare_probe": {"each": ratios, "median": statistics.median(ratios)},
        "milliseconds_of_a_tiny_cell": 1000 * each,
        "milliseconds_of_planning_a_question": 1000 * planning / TINY_CELLS,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
