"""coverage: the share of sentences with a match in the top k. The others are excluded from mps and mnt."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("rank",),
    role="quality",
    neutral=None,
    proportion=1.0,
    counts_unmatched=True,
    cites="Of the sentences in Doughman et al. (2023), the share that the means are about.",
)


def coverage(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the sentences with a match, between 0 and 1.

    >>> float(coverage(np.array([1.0, 4.0, np.nan, 65.0])))
    0.75
    """
    return np.asarray(1 - np.isnan(rank).mean(axis=-1), dtype=np.float64)
