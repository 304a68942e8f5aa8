"""mnt_gap_sd: how far the gaps in normalised rank spread over sentences (standard deviation)."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import normalised, sd_of_matched

MEASURE = Measure(
    reads=("rank", "other_rank", "k"),
    role="part",
    neutral=None,
    interval="log",
    cites="Doughman et al. (2023), SEXISTLY, section 6.5: the spread of Figure 3 as a number.",
)


def mnt_gap_sd(rank: NDArray[np.float64], other_rank: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Standard deviation of the differences: a mean gap of 0 may hide large gaps on either side.

    >>> round(float(mnt_gap_sd(np.array([1.0, 100.0]), np.array([100.0, 1.0]), 100)), 4)
    1.4142
    """
    return sd_of_matched(normalised(rank, k) - normalised(other_rank, k))
