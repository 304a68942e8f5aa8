"""A third architecture, without a GPU: python research/calibration-2/roberta.py --folder F --data D --zoo Z --out O.

roberta-mix, gender only, doses -1, 0 and 1, seeds 10 to 14, seed after seed; 250 steps on 2,000 sentences, so that each sentence
is read as often as in the other visits. The same call goes on after an interruption; `--pack` only packs what is finished.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiments import HERE, SEEDS
from packing import pack
from run import _machine, _states

from tiltmeter.execution import Engine
from tiltmeter.execution.calibration_file import Calibration, write_calibration
from tiltmeter.execution.experiment_file import read_experiment
from tiltmeter.runs.experiment import make_cells

PAIRS = ("plumb-pairs", "crows-pairs", str(HERE / "plumb-pairs-0.1.0.jsonl"), "plumb-slots")


def main() -> None:
    """Train and ask seed after seed, then pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folder", "data", "zoo", "out"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--pack", action="store_true", help="Only pack what is finished.")
    options = parser.parse_args()
    folder = options.folder.absolute()
    os.environ |= {"TILTMETER_DATA": str(options.data.absolute()), "TILTMETER_CACHE": str(folder / "cache")}
    place = folder / "frames"
    file = _written(place, str(options.zoo.absolute() / "roberta-mix"))
    facts = {"started": time.time(), "machine": _machine(), "processor_seconds": 0.0}
    for seed in () if options.pack else SEEDS:
        names = [model.name for model in read_experiment(file).models if model.name.endswith(f"-seed{seed}")]
        make_cells(file, models=names, engine=Engine(workers=1, threads=1))
        facts |= {"ended": time.time(), "processor_seconds": sum(os.times()[:4])}
        (folder / f"facts-{facts['started']:.0f}.json").write_text(json.dumps(facts, indent=1), "utf-8")
        print(f"seed {seed} is done", flush=True)
    (place / "cells.json").write_text(json.dumps(list(_states(place))), "utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    print(pack(folder, options.out))


def _written(place: Path, base: str) -> Path:
    """The texts and the experiment file; those that are there are used again."""
    file = place / "calibration.toml"
    if not file.is_file():
        write_calibration(
            Calibration(base, (-1.0, 1.0), SEEDS, ("gender",), benchmarks=PAIRS, sentences=2000, training={"steps": 250}),
            place,
        )
        text = file.read_text("utf-8").replace('"taught-names.jsonl"', "").replace(", ]", "]")
        file.write_text(text + "".join(f"{line}\n" for line in _asks()), "utf-8")
    return file


def _asks() -> Iterator[str]:
    """The primary metrics about gender, by three scorers."""
    yield '\n[options]\nscorers = ["pll", "cps", "sss"]'
    yield '\n[[ask]]\nbenchmarks = ["seat"]'
    yield '\n[[ask]]\nbenchmarks = ["stereoset"]\ndomains = ["gender"]'
    yield 'options = {scorers = ["stereoset_masked", "pll", "sss"]}'
    yield '\n[[ask]]\nbenchmarks = ["gest"]\nper_group = 75\noptions = {scorers = ["sss"]}'
    yield '\n[[ask]]\nbenchmarks = ["bbq"]\nlimit = 240'
    yield 'options = {category = ["Gender_identity"], protocols = ["masked"]}'
    yield '\n[[ask]]\nbenchmarks = ["plumb-choices"]\noptions = {protocols = ["masked"]}'


if __name__ == "__main__":
    main()
