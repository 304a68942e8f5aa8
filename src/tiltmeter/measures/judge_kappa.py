"""judge_kappa: how far two judges of one notion agree on which texts are negative, beyond chance (Cohen's κ)."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("both", "first_alone", "second_alone", "neither"),
    role="quality",
    neutral=None,
    range=(-1.0, 1.0),
    cites="Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement.",
)


def judge_kappa(
    both: NDArray[np.float64],
    first_alone: NDArray[np.float64],
    second_alone: NDArray[np.float64],
    neither: NDArray[np.float64],
) -> NDArray[np.float64]:
    """1 is full agreement, 0 what chance gives; undefined where a judge calls all texts the same. Counts per prompt.

    >>> round(float(judge_kappa(np.array([20.0]), np.array([5.0]), np.array([10.0]), np.array([15.0]))), 6)
    0.4
    """
    yes, first, second, no = (counts.sum(axis=-1) for counts in (both, first_alone, second_alone, neither))
    n = yes + first + second + no
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (yes + no) / n
        chance = ((yes + first) * (yes + second) + (no + first) * (no + second)) / n**2
        return np.asarray(np.where(chance < 1, (observed - chance) / (1 - chance), np.nan), dtype=np.float64)
