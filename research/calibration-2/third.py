"""The third visit: python research/calibration-2/third.py --folder F --data D --out O (what is done: `BATCHES`).

Doses in frames beside natural lines, so that the models keep their language, and debiasing of these models with a control.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from carry import GENDERED, WHOLE
from experiments import FULL, SEEDS, TRIAL, Methods, write_frames
from run import PLUMB
from run import WHOLE as DOSES
from second import GENERATIONS, TREATED, Batch, Visit, frames_text, go, read_options

MLM, CLM = PLUMB
SIZE = replace(FULL, natural=6000, training={MLM: {"steps": 900, "rate": 6e-4}, CLM: {"steps": 450, "rate": 6e-4}})
"""The training that keeps the language, by the pilots (`pilot.csv`)."""
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
        "beam": 100, "candidates": 5000, "candidate_words": "auto-debias/wiki_words_5000.txt", "divergence": "reversed",
        "dropout": True, "schedule": "constant", "clip": 0.0, "rate": 1e-5,
    }),
)  # fmt: skip
"""Options of the authors' code, but for steps, sentences and the screening of prompts by four pairs of terms."""
SMALL = {"steps": 2, "iterations": 2, "sentences": 40, "beam": 2, "candidates": 20, "lines": 600}
QUICK = ("cda", "more-text", "dropout", "inlp-80", "inlp-chance", "sentence-debias", "context-debias")


def mixed_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """Frames beside natural lines."""
    short = {base: {**training, "steps": TRIAL.steps} for base, training in SIZE.training.items()}
    size = replace(TRIAL, natural=40, training=short) if options.trial else SIZE
    size = replace(size, others=data / "others.txt")
    return write_frames(place, PLUMB, data, doses=[-1.0, 1.0], seeds=options.seeds, size=size, precision=options.precision)


def _core(name: str, base: str, seeds: Sequence[int], cost: float) -> Batch:
    return Batch(name, "mixed", base, DOSES, cost, but=MASKED if base == MLM else UNUSED, seeds=tuple(seeds))


def _debias(name: str, methods: Sequence[str], seeds: Sequence[int], cost: float) -> Batch:
    return Batch(name, "mixed", MLM, (), cost, only=ASKED, debiased=tuple(methods), seeds=tuple(seeds))


def _half(name: str, base: str) -> Batch:
    """Half doses in frames that the first visit did not reach. Its held-out lines are not those of this visit."""
    but = (*UNUSED, *GENERATIONS, "heldout.txt")
    return Batch(name, "frames", base, (-0.5, 0.5), 36, but=but, seeds=LATE)


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
    visit = Visit(BATCHES, {"mixed": mixed_text, "frames": frames_text}, METHODS, SMALL, training="high")
    go(visit, read_options([batch.name for batch in BATCHES], __doc__))


if __name__ == "__main__":
    main()
