"""mnt: mean normalised top-k, the rank of a group's best match between 1 (rank 1) and 0 (rank k), averaged."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched, normalised

MEASURE = Measure(
    reads=("rank", "k"),
    role="part",
    neutral=None,
    cites="Doughman et al. (2023), SEXISTLY, Eq. 2 with t_min = 1 and t_max = k.",
)


def mnt(rank: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Mean of (rank − 1)/(k − 1)·(0 − 1) + 1 over the sentences with a match.

    >>> float(mnt(np.array([1.0, 100.0, np.nan]), 100))
    0.5
    """
    return mean_of_matched(normalised(rank, k))
