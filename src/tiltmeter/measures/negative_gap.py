"""negative_gap: the share of negative texts about one group minus that of another, or minus the mean of all groups."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("negatives", "judged", "other_negatives", "other_judged"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    range=(-1.0, 1.0),
    difference_of="negative_share",
    cites="Dhamala et al. (2021), BOLD, FAccT.",
)


def negative_gap(
    negatives: NDArray[np.float64],
    judged: NDArray[np.float64],
    other_negatives: NDArray[np.float64],
    other_judged: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Difference of two shares.

    >>> float(negative_gap(np.array([1.0]), np.array([2.0]), np.array([1.0]), np.array([4.0])))
    0.25
    """
    return ratio(negatives, judged) - ratio(other_negatives, other_judged)
