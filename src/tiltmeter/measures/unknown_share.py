"""unknown_share: the percentage of answers that are "unknown", in all contexts."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("answered", "said_unknown"),
    role="part",
    neutral=None,
    range=(0.0, 100.0),
    unit="%",
    cites="Parrish et al. (2022), BBQ, Findings of ACL.",
)


def unknown_share(answered: NDArray[np.float64], said_unknown: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·"unknown"/answered.

    >>> float(unknown_share(np.array([4.0]), np.array([3.0])))
    75.0
    """
    return 100.0 * ratio(said_unknown, answered)
