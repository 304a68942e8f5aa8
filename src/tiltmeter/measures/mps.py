"""mps: mean probability score, the mean probability of a group's best match over the sentences that have one."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched

MEASURE = Measure(
    reads=("probability",),
    role="part",
    neutral=None,
    cites="Doughman et al. (2023), SEXISTLY, Eq. 1 as computed there: over matched sentences.",
)


def mps(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean probability; sentences without a match (NaN) are excluded, and `coverage` says how many are left.

    >>> round(float(mps(np.array([0.28, 0.044, np.nan, 0.086]))), 4)
    0.1367
    """
    return mean_of_matched(probability)
