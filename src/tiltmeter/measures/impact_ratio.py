"""impact_ratio: the selection rate of a group divided by that of the group with the highest rate."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("favourable", "best_favourable"),
    role="part",
    neutral=None,
    ideal=1.0,
    range=(0.0, float("inf")),
    interval="corrected",
    cites="Uniform Guidelines on Employee Selection Procedures (1978), 29 CFR 1607.4: below four fifths, adverse impact.",
)


def impact_ratio(favourable: NDArray[np.float64], best_favourable: NDArray[np.float64]) -> NDArray[np.float64]:
    """favourable/best_favourable, over the same cases; missing where no decision is favourable.

    >>> float(impact_ratio(np.array([3.0]), np.array([4.0])))
    0.75
    """
    return ratio(favourable, best_favourable)
