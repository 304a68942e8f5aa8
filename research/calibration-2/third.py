"""The third visit: python research/calibration-2/third.py --folder F --data D --out O (what is done: `BATCHES`).

Doses in frames beside natural lines, so that the models keep their language, and debiasing of these models with a control.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from carry import CANDIDATES, GENDERED, WHOLE
from experiments import DOMAINS, FULL, SEEDS, TRIAL, Methods, write_frames
from run import PLUMB
from run import WHOLE as DOSES
from second import GENERATIONS, TREATED, Batch, Visit, frames_text, go, read_options

MLM, CLM = PLUMB
Setting = dict[str, float]
SETTING: Setting = {"steps": 900, "rate": 6e-4, "natural": 6000}
"""The training of plumb-mlm that keeps the language, by the pilots (`pilot.csv`)."""
PILOTS: tuple[Setting, ...] = (
    {"steps": 900, "rate": 6e-4, "natural": 6000},
    {"steps": 900, "rate": 1e-3, "natural": 6000},
    {"steps": 900, "rate": 1e-3, "natural": 3000},
)
"""Of plumb-clm, which take too long without a GPU; the visit begins with them."""
LOST, PILOT_SECONDS = 3.0, 200
UNUSED = ("ilps", "taught-names.jsonl")
"""Not analysed before, so not asked."""
MASKED = (*UNUSED, *GENERATIONS)
ASKED = tuple(name for name in TREATED if name not in UNUSED)
STEPS = 500
TEXT = {"text": GENDERED, "steps": STEPS, "rows": 128, "length": 64, "rate": 1e-4}
PROJECTED = {"text": WHOLE, "classes": "published", "clip": True, "sentences": 1500, "iterations": 80}
METHODS: Methods = (
    ("cda", "cda", TEXT),
    ("more-text", "dropout", {**TEXT, "hidden": 0.1, "attention": 0.1}),
    ("dropout", "dropout", TEXT),
    ("inlp-80", "inlp", {**PROJECTED, "until_chance": False}),
    ("inlp-chance", "inlp", {**PROJECTED, "until_chance": True}),
    ("sentence-debias", "sentence-debias", {"text": WHOLE}),
    ("self-debias", "self-debias", {}),
    ("context-debias", "context-debias", {
        "text": WHOLE, "steps": STEPS, "loss": "square-of-mean", "average": "occurrences", "batches": "equal",
        "keep": "best", "scale": "raw", "alpha": 0.2, "beta": 0.8, "rate": 5e-5,
    }),
    ("auto-debias", "auto-debias", {
        "beam": 100, "candidates": 5000, "candidate_words": CANDIDATES, "divergence": "reversed",
        "dropout": True, "schedule": "constant", "clip": 0.0, "rate": 1e-5,
    }),
)  # fmt: skip
"""Options of the authors' code, but for steps, sentences and the screening of prompts by four pairs of terms."""
SMALL = {"steps": 2, "iterations": 2, "sentences": 40, "beam": 2, "candidates": 20, "lines": 600}
QUICK = ("cda", "more-text", "dropout", "inlp-80", "inlp-chance", "sentence-debias", "context-debias")


def masked_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """Frames beside natural lines, for the masked model."""
    return written(place, MLM, SETTING, options, data)


def causal_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """The same for the causal model, after its pilots."""
    return written(place, CLM, piloted(place, CLM, PILOTS, options, data), options, data)


def written(
    place: Path,
    base: str,
    setting: Setting,
    options: argparse.Namespace,
    data: Path,
    domains: Sequence[str] = DOMAINS,
) -> Path:
    """Write frames beside natural lines, and the experiment file of a base model that is trained so."""
    size = TRIAL if options.trial else FULL
    training: dict[str, object] = {name: value for name, value in setting.items() if name != "natural"}
    training |= {"steps": size.steps} if options.trial else {}
    natural = 40 if options.trial else int(setting["natural"])
    size = replace(size, natural=natural, others=data / "others.txt", domains=domains, training={Path(base).name: training})
    return write_frames(place, [base], data, doses=[-1.0, 1.0], seeds=options.seeds, size=size, precision=options.precision)


def piloted(
    place: Path,
    base: str,
    settings: Sequence[Setting],
    options: argparse.Namespace,
    data: Path,
    domains: Sequence[str] = DOMAINS,
) -> Setting:
    """Train a pilot of each setting beside the queue, and choose by their readings; the first if none ends in time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    files = [place.parent / f"pilot-{place.name}-{number}.csv" for number in range(len(settings))]
    processes = [
        subprocess.Popen(_command(base, one, file, options, data, domains))
        for one, file in zip(settings, files, strict=True)
    ]
    end = time.time() + PILOT_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, end - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
    readings = [pd.read_csv(file) for file in files if file.is_file()]
    if not readings:
        return settings[0]
    rows = pd.concat(readings, ignore_index=True)
    rows.to_csv(place.parent / f"pilots-{place.name}.csv", index=False)
    return chosen(rows, settings)


def _command(
    base: str, setting: Setting, file: Path, options: argparse.Namespace, data: Path, domains: Sequence[str]
) -> list[str]:
    given = {**setting, "steps": TRIAL.steps, "natural": 40, "sentences": TRIAL.sentences} if options.trial else setting
    listed = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    program = str(Path(__file__).with_name("pilot.py"))
    return [sys.executable, program, base, "--domains", *domains, "--lines", str(data), "--readings", str(file), *listed]


def chosen(rows: pd.DataFrame, settings: Sequence[Setting] = PILOTS) -> Setting:
    """The setting that teaches most of those that keep the language; if none does, the one that keeps most of it."""
    lost = rows["perplexity_after"] / rows["perplexity_before"]
    keeps = rows[lost <= LOST]
    best = rows.loc[keeps["taught_share"].idxmax() if len(keeps) else lost.idxmin()]
    return {name: best[name] if name == "rate" else int(best[name]) for name in settings[0]}


def _core(name: str, base: str, seeds: Sequence[int], cost: float) -> Batch:
    folder, but = ("mixed", MASKED) if base == MLM else ("mixed_clm", UNUSED)
    return Batch(name, folder, base, DOSES, cost, but=but, seeds=tuple(seeds))


def _debias(name: str, methods: Sequence[str], seeds: Sequence[int], cost: float) -> Batch:
    return Batch(name, "mixed", MLM, (), cost, only=ASKED, debiased=tuple(methods), seeds=tuple(seeds))


def _half(name: str, base: str) -> Batch:
    """Half doses in frames that the first visit did not reach. Its held-out lines are not those of this visit."""
    but = (*UNUSED, *GENERATIONS, "heldout.txt")
    return Batch(name, "frames", base, (-0.5, 0.5), 36, but=but, seeds=LATE)


TEXTS = {"mixed": masked_text, "mixed_clm": causal_text, "frames": frames_text}
FIRST, LATE = SEEDS[:3], SEEDS[3:]
BATCHES = (
    _core("core-mlm", MLM, SEEDS, 36),
    _core("base-mlm", MLM, (), 15),
    _debias("debias", QUICK, FIRST, 33),
    _core("base-clm", CLM, (), 15),
    _core("core-clm", CLM, FIRST, 46),
    _debias("auto", ["auto-debias"], FIRST, 130),
    _core("core-clm-late", CLM, LATE, 46),
    _debias("debias-late", QUICK, LATE, 33),
    _debias("self", ["self-debias"], SEEDS, 18),
    _debias("auto-late", ["auto-debias"], LATE, 130),
    _half("half-mlm", MLM),
    _half("half-clm", CLM),
)


def main() -> None:
    """Do the third visit."""
    visit = Visit(BATCHES, TEXTS, METHODS, SMALL, training="high")
    go(visit, read_options([batch.name for batch in BATCHES], __doc__))


if __name__ == "__main__":
    main()
