"""mps_gap_sd: how far the gaps in probability spread over sentences (standard deviation)."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import sd_of_matched

MEASURE = Measure(
    reads=("probability", "other_probability"),
    role="part",
    neutral=None,
    interval="log",
    cites="Doughman et al. (2023), SEXISTLY, section 6.5: the spread of Figure 2 as a number.",
)


def mps_gap_sd(probability: NDArray[np.float64], other_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of the differences: a mean gap of 0 may hide large gaps on either side.

    >>> round(float(mps_gap_sd(np.array([0.3, 0.1]), np.array([0.1, 0.3]))), 4)
    0.2828
    """
    return sd_of_matched(probability - other_probability)
