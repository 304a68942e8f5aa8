"""Train and ask the models of the second calibration: python research/calibration-2/run.py STEP... (see `STEPS`).

Steps are done in the given order until the time is over. What is finished is kept in the working folder, so that the same
call goes on. All answers are packed into pieces under OUT after each step.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from experiments import FULL, SEEDS, TRIAL, debiased_names, names_of, write_debias, write_frames
from packing import pack

PLUMB, ALL, HALF, WHOLE = ("plumb-mlm", "plumb-clm"), (-1.0, -0.5, 0.5, 1.0), (-0.5, 0.5), (-1.0, 0.0, 1.0)


@dataclass(frozen=True)
class Step:
    """Some models of one experiment file.

    `written`: doses of the file in `folder`. `doses`: those of this step. `text`: the natural text of its data, if any.
    `debiased`: its gender models, debiased, instead.
    """

    folder: str
    bases: tuple[str, ...]
    written: tuple[float, ...]
    doses: tuple[float, ...]
    text: str = ""
    debiased: bool = False


STEPS = {
    "core": Step("frames", PLUMB, ALL, WHOLE),
    "half": Step("frames", PLUMB, ALL, HALF),
    "natural": Step("natural", PLUMB, (-1.0, 1.0), WHOLE, "natural.txt"),
    "debias": Step("frames", PLUMB, ALL, (), debiased=True),
    "roberta": Step("roberta", ("roberta-mix",), (-1.0, 1.0), WHOLE),
}


def main() -> None:
    """Do the steps, and pack what they gave whatever happens."""
    options = _options()
    end = time.time() + options.seconds
    folder, out, data = (Path(path).absolute() for path in (options.folder, options.out, options.data))
    os.environ |= {"TILTMETER_DATA": str(data), "TILTMETER_CACHE": str(folder / "cache"), "TOKENIZERS_PARALLELISM": "false"}
    out.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"started": time.time(), "machine": _machine(), "steps": {}}
    for name in options.steps:
        if end - time.time() < options.reserve:
            facts["steps"][name] = {"status": "no time"}
            continue
        began = time.time()
        facts["steps"][name] = _guarded(lambda name=name: _do(STEPS[name], options, folder, data, end - options.reserve))
        facts["steps"][name]["seconds"] = round(time.time() - began, 1)
        print(name, facts["steps"][name], flush=True)
        facts["ended"] = time.time()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"facts-{facts['started']:.0f}.json").write_text(json.dumps(facts, indent=1), "utf-8")
        if not options.prepare:
            print(_guarded(lambda: pack(folder, out)), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="+", choices=list(STEPS))
    parser.add_argument("--folder", required=True, help="Where the work is kept between calls.")
    parser.add_argument("--data", required=True, help="Folder with the datasets.")
    parser.add_argument("--out", required=True, help="Where the pieces are written.")
    parser.add_argument("--seconds", type=float, default=540, help="Time in all.")
    parser.add_argument("--reserve", type=float, default=45, help="Seconds kept for packing.")
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--precision", default="fp32", help="Of asking; training is fp32. tf32 on a GPU.")
    parser.add_argument("--prepare", action="store_true", help="Only write the texts and experiment files.")
    parser.add_argument("--most", type=int, help="Only so many models of each step, the first ones.")
    parser.add_argument("--trial", action="store_true", help="Few items and steps: a trial of this program.")
    return parser.parse_args()


def _do(step: Step, options: argparse.Namespace, folder: Path, data: Path, end: float) -> dict[str, Any]:
    """Train and ask the models of a step until the time is over. Return counts of cells, and every state."""
    from tiltmeter.execution import Engine
    from tiltmeter.runs.experiment import make_cells

    place, size = folder / step.folder, TRIAL if options.trial else FULL
    bases = [name if name in PLUMB else str(data / name) for name in step.bases]
    text = data / step.text if step.text else None
    file = write_frames(
        place,
        bases,
        data,
        doses=[dose for dose in step.written if dose],
        seeds=options.seeds,
        size=size,
        text=text,
        precision=options.precision,
    )
    if options.prepare:
        return {"status": "written", "file": str(file)}
    if step.debiased:
        file = write_debias(file, data, options.seeds, small={"steps": size.steps} if options.trial else None)
    names = (debiased_names(file) if step.debiased else names_of(file, bases, step.doses))[: options.most]
    with _alarm(end - time.time()):
        try:
            make_cells(file, models=names, engine=Engine(workers=options.workers, threads=1))
            ended = "whole"
        except KeyboardInterrupt:
            ended = "time is over"
    states = [state for state in _states(place) if state["model"] in names]
    counts = Counter(state["status"] for state in states)
    failures = sorted({f"{state['benchmark']}: {state['error']}"[:300] for state in states if state["error"]})
    (place / "cells.json").write_text(json.dumps(states), "utf-8")
    return {"status": ended, "models": len(names), "counts": dict(counts), "failures": failures[:20]}


def _states(place: Path) -> Iterator[dict[str, Any]]:
    """The latest state of each cell, as the workers wrote it. Planning again would take longer."""
    for path in sorted((place / "study" / "state" / "cells").rglob("*")):
        try:
            state = json.loads(path.read_text("utf-8"))
            model, _, benchmark = path.relative_to(place / "study" / "state" / "cells").parts[0].rpartition("--")
        except (OSError, ValueError):
            continue
        if isinstance(state, dict) and "status" in state:
            kept = {name: state.get(name) for name in ("cell", "status", "seconds", "attempts", "error", "key")}
            own = state.get("question", {}).get("model", {}).get("name", model)  # a folder's name spells "+" otherwise
            yield kept | {"model": own, "benchmark": benchmark.rpartition("-")[0]}


class _alarm:  # noqa: N801
    """Raise KeyboardInterrupt after so many seconds, which the engine takes as the wish to stop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1.0, seconds)

    def __enter__(self) -> None:
        def ring(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _guarded(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what went wrong instead of ending: the next step is tried, and everything is packed."""
    try:
        return act()
    except BaseException as error:
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"[:2000]}


def _machine() -> dict[str, Any]:
    """Versions, and the GPU if there is one."""
    import torch
    import transformers

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"torch": torch.__version__, "transformers": transformers.__version__, "gpu": gpu, "cores": os.cpu_count()}


if __name__ == "__main__":
    main()
