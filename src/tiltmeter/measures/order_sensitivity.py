"""order_sensitivity: the percentage of questions whose answer changes with the order of the options."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("reordered", "changed"),
    role="quality",
    neutral=None,
    ideal=0.0,
    range=(0.0, 100.0),
    unit="%",
    cites="Pezeshkpour and Hruschka (2024), Large language models' sensitivity to the order of options, Findings of NAACL.",
)


def order_sensitivity(reordered: NDArray[np.float64], changed: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·changed/reordered, over questions that were posed in several orders.

    >>> float(order_sensitivity(np.array([5.0]), np.array([1.0])))
    20.0
    """
    return 100.0 * ratio(changed, reordered)
