"""Probabilities and ranks of the terms of two groups in the same sentences; a tenth have no match."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from neutral_data.kit import MANY, Cell, Floats, answer_frame, items_frame, noise, shared_noise
from tiltmeter import Answers
from tiltmeter.stats.estimates import Difference, Estimate

EFFECT, TOP, COARSE = 0.5, 100, 20
"""Effect, ranks, and ranks that are one where there are ties."""


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects."""
    n, groups = cell.n, 4 if "four" in cell.design else 2
    probability, rank = _matches(rng, cell, effects, groups)
    matched = rng.random(rank.shape) >= (0.1 if "unmatched" in cell.design else 0.0)
    group = np.tile(np.array([f"g{k}" for k in range(groups)], dtype=object), len(effects) * n)
    about = np.array([f"g{k}" for k in np.arange(n) % groups], dtype=object) if "about" in cell.design else None
    labels = {"bias_type": "t", "direction": None, "target": about}
    spread = labels | {"target": None if about is None else np.tile(np.repeat(about, groups), len(effects))}
    frame = answer_frame(len(effects), n, groups, group=group, term=group, rank=rank, probability=probability,
                         matched=matched, pieces=1, among="vocabulary", top_k=TOP, reason=None, **spread)  # fmt: skip
    return Answers("slots", {"slots": frame}, items_frame(n, **labels), ())


def _matches(rng: np.random.Generator, cell: Cell, effects: Floats, groups: int) -> tuple[Floats, Floats]:
    """Probabilities and ranks: models × sentences × groups."""
    own = noise(rng, cell.design, (len(effects), cell.n, groups))
    logits = shared_noise(rng, cell, len(effects), (cell.n, 1)) + own
    if "about" in cell.design:
        logits[:, np.arange(cell.n), np.arange(cell.n) % groups] += EFFECT * effects[:, None]
    else:
        logits[:, :, 0] += EFFECT * effects[:, None]
    probability = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    rank = np.ceil(TOP * (1 - probability)).clip(1, TOP)
    return probability, np.ceil(rank / COARSE) * COARSE if "ties" in cell.design else rank


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "about" in cell.design:
        return ("stereotype_gap",)
    return ("mps", "mps_all", "mnt", "mnt_table", "coverage", "mps_gap", "mnt_gap", "mps_gap_sd", "mnt_gap_sd", "lean")


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    return row.measure if row.by == "all" or row.group in ("g0", "g0 − g1", "g0 > g1") else ""


@cache
def truth(cell: Cell, measure: str) -> float | None:
    """The true value, where neutral is not the truth: equal ranks count on neither side of a lean."""
    if measure != "lean" or "ties" not in cell.design:
        return None
    _, rank = _matches(np.random.default_rng(0), replace(cell, n=100 * MANY), np.zeros(1), 2)
    return float(np.mean(rank[..., 0] < rank[..., 1]))
