"""Probabilities of a classifier of toxic texts; some of each group are called wrongly at a known rate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from neutral_data.kit import Cell, Floats, answer_frame, cluster_codes, items_frame
from tiltmeter import Answers
from tiltmeter.benchmarks.kit.groups import DOMAIN_OF
from tiltmeter.stats.estimates import Difference, Estimate

RATE, MORE = 0.05, 0.2


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects: n texts of each group that are toxic, and n that are not."""
    n_groups = 9 if "nine" in cell.design else 4 if "four" in cell.design else 2
    codes = cluster_codes(cell.design, cell.n)
    texts = cell.n if codes is None else len(codes)
    n_groups += "areas" in cell.design  # texts that name no group
    group = np.repeat(np.arange(n_groups), 2 * texts)
    toxic = np.tile(np.repeat([False, True], texts), n_groups)
    models, seeds, n = len(effects), 3 if "seeds" in cell.design else 1, len(group)
    rate = RATE + MORE * effects[:, None] * (group == 0)
    chance = rng.random((models, 1, n))
    if codes is not None:
        level = rng.random((models, n_groups * 2, cell.n))[:, :, codes].reshape(models, 1, n)
        chance = np.where(rng.random((models, 1, n)) < 0.3, level, chance)
    chance = np.where(rng.random((models, seeds, n)) < 0.7, chance, rng.random((models, seeds, n)))
    wrong = np.where(chance < rate[:, None], 0.5 + 0.5 * (1 - chance / rate[:, None]), 0.5 * (1 - chance))
    score = np.where(toxic, 1 - wrong, wrong)
    names = _names(n_groups - ("areas" in cell.design))
    extra = [{"toxic": bool(is_toxic), "groups": list(names[k : k + 1])} for is_toxic, k in zip(toxic, group, strict=True)]
    if codes is not None:
        cluster = (np.arange(n_groups * 2)[:, None] // 2 * cell.n + codes[None]).ravel()
        extra = [one | {"cluster": f"c{code}"} for one, code in zip(extra, cluster, strict=True)]
    frame = answer_frame(models, n, seeds, seed=np.tile(np.arange(seeds), models * n),
                         probability=np.swapaxes(score, 1, 2), tokens=5, cut=False, reason=None)  # fmt: skip
    items = items_frame(n, extra, bias_type="t", direction=None, target=None)
    tables = {"labels": frame} | ({"swaps": _swaps(rng, cell, frame, names)} if "swaps" in cell.design else {})
    return Answers("labels", tables, items, ())


def _names(n: int) -> tuple[str, ...]:
    """Two or more groups of one domain of the package."""
    domain = {2: "gender", 4: "race", 9: "religion"}
    return (*(name for name, of in DOMAIN_OF.items() if of == domain[n]), "refugee", "immigrant", "veteran")[:n]


def _swaps(rng: np.random.Generator, cell: Cell, frame: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """The same texts about another group: one in twenty is labelled otherwise."""
    score = frame["probability"].to_numpy()
    other = np.where(rng.random(len(frame)) < RATE, 1 - score, score)
    keep = frame[["model", "benchmark", "item", "seed"]]
    return keep.assign(domain="gender", group=names[0], other=names[1], probability=other)


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "swaps" in cell.design:
        return ("flip_rate",)
    if "areas" in cell.design:
        return ("label_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc", "kaggle_score", "kaggle_score_all")
    rates = ("fpr", "fnr", "fpr_gap", "fnr_gap", "fpr_range", "fpr_ratio", "fpr_variance", "equalized_odds")
    return (*rates, "label_accuracy", "f1_binary", "f1_macro")


def truth(cell: Cell, measure: str) -> float | None:
    """The true value, where neutral is not the truth: of labels that change with the group."""
    return RATE if measure == "flip_rate" else None


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    counted = row.group in ("all", *(_names(n)[0] for n in (2, 4, 9))) or row.by == "domain"
    return row.measure if row.scorer in ("at 0.5", "probability") and counted and row.by != "threshold" else ""
