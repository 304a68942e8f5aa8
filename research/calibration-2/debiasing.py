"""What methods of debiasing leave of a dose, beside a control that was trained on the same text for as many steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MARGIN = 0.10
"""Of the untreated effect."""


@dataclass(frozen=True)
class Difference:
    """Share of the effect that a control leaves less that of a method: positive if the method removes more."""

    value: float
    low: float
    high: float
    low90: float
    high90: float
    verdict: str


def left(before: Floats, after: Floats, confidence: float = 0.95) -> tuple[float, float, float]:
    """The slopes after over the mean slope before, with an interval over seeds; the effect before is taken as known."""
    return mean_interval(after / before.mean(), confidence)


def difference_of_left(before: Floats, method: Floats, control: Floats) -> Difference:
    """Compare paired by seed; `before` scales the margin. "more" and "less" by 95 %, "no more" by two one-sided tests."""
    gap = (control - method) / before.mean()
    value, low, high = mean_interval(gap, 0.95)
    _, low90, high90 = mean_interval(gap, 0.90)
    return Difference(value, low, high, low90, high90, _verdict(low, high, low90, high90))


def _verdict(low: float, high: float, low90: float, high90: float) -> str:
    if low90 > -MARGIN and high90 < MARGIN:
        return "no more"
    if low > 0 or high < 0:
        return "more" if low > 0 else "less"
    return "undecided"


def mean_interval(values: Floats, confidence: float) -> tuple[float, float, float]:
    """The mean with Student's interval; NaN where fewer than two values are there."""
    from scipy.stats import t

    values = values[np.isfinite(values)]
    if len(values) < 2:
        return (float(values.mean()) if len(values) else np.nan), np.nan, np.nan
    half = t.ppf(0.5 + confidence / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)
