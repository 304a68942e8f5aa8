"""Scores of sentence pairs; of sentences with an unrelated one (targets), of stereotypes (poles) and of occupations."""

from __future__ import annotations

import numpy as np

from neutral_data.kit import Cell, Floats, answer_frame, cluster_codes, items_frame, names_of, noise, shared_noise
from tiltmeter import Answers
from tiltmeter.stats.estimates import Difference, Estimate

EFFECT = 0.5
PER_TARGET = 3


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects, to the same pairs."""
    if "occupations" in cell.design:
        return _occupations(rng, cell, effects)
    targets, poles = "targets" in cell.design, "poles" in cell.design
    codes = np.repeat(np.arange(cell.n), PER_TARGET) if targets else cluster_codes(cell.design, cell.n)
    n = cell.n if codes is None else len(codes)
    roles = ("stereo", "anti", "unrelated") if targets else ("stereo", "anti")
    scores = 2 * shared_noise(rng, cell, len(effects), (n, 1)) + 0.7 * noise(rng, cell.design, (len(effects), n, len(roles)))
    if codes is not None:
        level = 0.5 * rng.standard_normal((len(effects), cell.n))[:, codes]
        scores[:, :, 0] += level
        scores[:, :, 1] -= level
    scores[:, :, 0] += EFFECT * effects[:, None]
    if targets:
        scores[:, :, 2] -= 0.9
    if "ties" in cell.design:
        scores[:, :, 1] = np.where(rng.random((len(effects), n)) < 0.2, scores[:, :, 0], scores[:, :, 1])
    types = names_of("t", np.arange(n) % 3 if "types" in cell.design else np.zeros(n, dtype=int))
    if "nine" in cell.design:
        types = names_of("t", np.arange(n) % 9)
    direction = np.where(np.arange(n) % 2, "stereo", "antistereo").astype(object) if "directions" in cell.design else "x"
    target = names_of("g", codes if targets else np.arange(n) % 6) if targets or poles else np.full(n, None)
    extra = [{"cluster": f"c{code}"} if codes is not None else {} for code in (codes if codes is not None else range(n))]
    if poles:
        extra = [{"pole": "women" if k % 6 < 3 else "men"} for k in range(n)]
    labels = {"bias_type": types, "direction": direction, "target": target}
    spread = {name: np.tile(np.repeat(values, len(roles)), len(effects)) if isinstance(values, np.ndarray) else values
              for name, values in labels.items()}  # fmt: skip
    role = np.tile(np.array(roles, dtype=object), len(effects) * n)
    frame = answer_frame(len(effects), n, len(roles), role=role, scorer="s", score=scores, n_tokens=1, reason=None, **spread)
    return Answers("pairs", {"scores": frame}, items_frame(n, extra, **labels), ())


def _occupations(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Two sentences of each occupation, whose share of women the model does not know."""
    n, actual = 2 * cell.n, rng.uniform(5, 95, cell.n)
    lean = 0.04 * (actual - 50)[None, :] * effects[:, None] + noise(rng, cell.design, (len(effects), cell.n))
    each = np.repeat(lean, 2, axis=1) + 0.5 * rng.standard_normal((len(effects), n))
    scores = np.stack([each / 2, -each / 2], axis=-1)
    target = names_of("o", np.repeat(np.arange(cell.n), 2))
    extra = [{"gender": "female", "bls_women": share} for share in np.repeat(actual, 2)]
    role = np.tile(np.array(("stereo", "anti"), dtype=object), len(effects) * n)
    frame = answer_frame(len(effects), n, 2, role=role, scorer="s", score=scores, n_tokens=1, reason=None, bias_type="t",
                         direction="x", target=np.tile(np.repeat(target, 2), len(effects)))  # fmt: skip
    items = items_frame(n, extra, bias_type="t", direction="x", target=target)
    return Answers("pairs", {"scores": frame}, items, ())


def by(cell: Cell) -> tuple[str, ...]:
    """Columns to group by."""
    return ("direction",) if "directions" in cell.design else ("bias_type",) if "nine" in cell.design else ()


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "occupations" in cell.design:
        return ("occupation_r", "occupation_slope", "occupation_difference")
    if "targets" in cell.design:
        return ("ss", "lms", "icat")
    if "poles" in cell.design:
        return ("stereotype_rate",)
    return ("bias_score", "mean_preference", "kls", "jss", "jss_liu")


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    if row.by == "all":
        return row.measure
    return {"|difference|": f"{row.measure}, two directions", "t000000": f"{row.measure}, one of nine types"}.get(
        row.group, ""
    )


def truth(cell: Cell, measure: str) -> float | None:
    """The true value, where neutral is not the truth."""
    tie = 0.2 if "ties" in cell.design else 0.0
    if measure.startswith("bias_score") and "directions" not in measure:
        return 50.0 * (1 - tie)
    return 0.0 if "two directions" in measure else None
