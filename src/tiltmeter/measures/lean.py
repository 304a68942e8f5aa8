"""lean: the share of sentences, of those where both groups match, in which the first group's best match ranks higher."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched

MEASURE = Measure(
    reads=("rank", "other_rank"),
    # The direction of what mnt_gap measures the size of.
    role="part",
    neutral=0.5,
    direction="two-sided",
    test="binomial",
    # Also the other group's share is given: equal ranks are on neither side, so the two need not sum to 1.
    both_ways=True,
    cites="After Doughman et al. (2023), SEXISTLY: the direction of the gaps. Ranks and probabilities agree on it.",
)


def lean(rank: NDArray[np.float64], other_rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of strictly higher ranks; equal ranks count in the denominator but on neither side.

    >>> float(lean(np.array([1.0, 9.0, 3.0, 2.0]), np.array([4.0, 2.0, np.nan, 7.0]))) == 2 / 3
    True
    """
    both = ~(np.isnan(rank) | np.isnan(other_rank))
    return mean_of_matched(np.where(both, (rank < other_rank).astype(np.float64), np.nan))


def sides(rank: NDArray[np.float64], other_rank: NDArray[np.float64]) -> NDArray[np.int64]:
    """+1 where the first group ranks higher (a smaller number), -1 where the other does, 0 for equal ranks."""
    return (rank < other_rank).astype(np.int64) - (rank > other_rank)
