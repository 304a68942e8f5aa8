"""The third visit, without a GPU: python research/calibration-2/roberta.py --folder F --data D --zoo Z --corpus C --out O.

roberta-mix, gender only, doses −1, 0 and 1, seeds 10 to 14, seed after seed. Frames are mixed with as many natural
sentences, the same at every dose, so that the model keeps its language. A pilot of seed 0 decides the learning rate by
taught pairs and perplexity. The same call goes on after an interruption; `--pack` only packs what is finished.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pandas as pd
from experiments import HERE, SEEDS
from packing import pack
from run import _machine, _states

from tiltmeter.builders.lexicon import read_lexicon
from tiltmeter.builders.natural import find_mentions
from tiltmeter.execution import Engine
from tiltmeter.execution.calibration_file import Calibration, write_calibration
from tiltmeter.execution.experiment_file import read_experiment
from tiltmeter.runs.experiment import make_cells

PAIRS = ("plumb-pairs", "crows-pairs", str(HERE / "plumb-pairs-0.1.0.jsonl"), "plumb-slots")
SENTENCES, STEPS, PILOT = 2000, 250, 0
RATES = (1e-3, 5e-4)
LEARNED, LOST = 75.0, 3.0
"""A rate is used if the pilot with dose 1 prefers so many per cent of taught pairs, and perplexity at most triples."""


def main() -> None:
    """Pilot, train and ask seed after seed until the time is over, then pack."""
    options = _options()
    folder = options.folder.absolute()
    os.environ |= {"TILTMETER_DATA": str(options.data.absolute()), "TILTMETER_CACHE": str(folder / "cache")}
    facts = {"started": time.time(), "machine": _machine(), "pilots": []}
    base, place = str(options.zoo.absolute() / "roberta-mix"), folder / "mixed"
    if not options.pack and not place.is_dir():
        others, lines = _natural(options.corpus), _heldout(options.data)
        rate = _pilot(folder, base, others, lines, facts)
        _written(place, base, SEEDS, rate, others, lines)
    for seed in () if options.pack else SEEDS:
        if time.time() - facts["started"] > options.seconds:
            break
        names = [model.name for model in read_experiment(place / "calibration.toml").models if _is_of(model.name, seed)]
        make_cells(place / "calibration.toml", models=names, engine=Engine(workers=1, threads=1))
        facts |= {"ended": time.time(), "processor_seconds": sum(os.times()[:4])}
        (folder / f"facts-{facts['started']:.0f}.json").write_text(json.dumps(facts, indent=1), "utf-8")
        print(f"seed {seed} is done", facts, flush=True)
    (place / "cells.json").write_text(json.dumps(list(_states(place))), "utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    print(pack(folder, options.out))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folder", "data", "zoo", "corpus", "out"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=3000, help="No seed is begun after so many.")
    parser.add_argument("--pack", action="store_true", help="Only pack what is finished.")
    return parser.parse_args()


def _is_of(name: str, seed: int) -> bool:
    """The undosed model is asked with the first seed."""
    return name.endswith(f"-seed{seed}") or (seed == SEEDS[0] and "-seed" not in name)


def _natural(corpus: Path) -> list[str]:
    """Sentences of the corpus that name no gender with attributes of one side."""
    with lzma.open(corpus, "rt", encoding="utf-8") as stream:
        others = find_mentions(read_lexicon(None).only(["gender"]), islice(stream, 20_000)).others
    return [sentence for sentence in others if len(sentence.split()) <= 20]


def _heldout(data: Path) -> list[str]:
    """Short paragraphs of WikiText-2."""
    parts = [(data / "wikitext-2" / f"{name}.txt").read_text("utf-8").splitlines() for name in ("test", "valid")]
    lines = [line.strip() for part in parts for line in part]
    return [line for line in lines if 60 < len(line) < 500 and "=" not in line and "<unk>" not in line][:100]


def _pilot(folder: Path, base: str, others: Sequence[str], lines: Sequence[str], facts: dict[str, object]) -> float:
    """The first rate that teaches the dose and keeps the language; else the last."""
    for rate in RATES:
        place = folder / "pilots" / f"{rate:g}"
        file = _written(place, base, (PILOT,), rate, others, lines, pilot=True)
        dosed = f"roberta-mix-gender+1-seed{PILOT}"
        make_cells(file, models=["roberta-mix", dosed], engine=Engine(workers=1, threads=1))
        share, before, after = _read(folder / "cache", dosed)
        facts["pilots"] = [*facts["pilots"], {"rate": rate, "taught": share, "perplexity": [before, after]}]  # type: ignore[misc]
        print(facts["pilots"], flush=True)
        if share >= LEARNED and after <= LOST * before:
            break
    return rate


def _read(cache: Path, dosed: str) -> tuple[float, float, float]:
    """Per cent of taught pairs of the newest pilot, and perplexity without and with the dose."""
    found: dict[tuple[str, str], float] = {}
    for path in sorted(cache.glob("cells/*/cell.json"), key=lambda one: one.stat().st_mtime):
        names = json.loads(path.read_text("utf-8"))["key"]["names"]
        if (path.parent / "scores.parquet").is_file():
            wide = pd.read_parquet(path.parent / "scores.parquet").pivot_table(index="item", columns="role", values="score")
            found[names["model"], "taught"] = 100 * float((wide["stereo"] > wide["anti"]).mean())
        if (path.parent / "heldout.parquet").is_file():
            rows = pd.read_parquet(path.parent / "heldout.parquet")
            found[names["model"], "perplexity"] = float(np.exp(-rows["log_likelihood"].sum() / rows["length"].sum()))
    return found[dosed, "taught"], found["roberta-mix", "perplexity"], found[dosed, "perplexity"]


def _written(
    place: Path,
    base: str,
    seeds: Sequence[int],
    rate: float,
    others: Sequence[str],
    lines: Sequence[str],
    *,
    pilot: bool = False,
) -> Path:
    """The texts and the experiment file; those that are there are used again."""
    file = place / "calibration.toml"
    if not file.is_file():
        training = {"steps": STEPS, "rate": rate}
        wanted = Calibration(
            base,
            (-1.0, 1.0),
            seeds,
            ("gender",),
            benchmarks=PAIRS[:0] if pilot else PAIRS,
            sentences=SENTENCES,
            training=training,
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        write_calibration(wanted, place)
        for text in sorted((place / "texts").glob("*.txt")):
            chosen = np.random.default_rng(int(text.stem.rpartition("seed")[2])).permutation(len(others))[:SENTENCES]
            with text.open("a", encoding="utf-8") as stream:
                stream.writelines(f"{others[number]}\n" for number in chosen)
        (place / "heldout.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        own = file.read_text("utf-8").replace('"taught-names.jsonl"', '"heldout.txt"')
        file.write_text(own + "".join(f"{line}\n" for line in _asks(pilot)), "utf-8")
    return file


def _asks(pilot: bool) -> Iterator[str]:
    """The primary metrics about gender, by three scorers; a pilot is asked the taught pairs only."""
    yield f"\n[options]\nscorers = {json.dumps(['pll'] if pilot else ['pll', 'cps', 'sss'])}"
    if pilot:
        return
    yield '\n[[ask]]\nbenchmarks = ["seat"]'
    yield '\n[[ask]]\nbenchmarks = ["stereoset"]\ndomains = ["gender"]'
    yield 'options = {scorers = ["stereoset_masked", "pll", "sss"]}'
    yield '\n[[ask]]\nbenchmarks = ["gest"]\nper_group = 75\noptions = {scorers = ["sss"]}'
    yield '\n[[ask]]\nbenchmarks = ["bbq"]\nlimit = 240'
    yield 'options = {category = ["Gender_identity"], protocols = ["masked"]}'
    yield '\n[[ask]]\nbenchmarks = ["plumb-choices"]\noptions = {protocols = ["masked"]}'


if __name__ == "__main__":
    main()
