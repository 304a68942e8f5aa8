"""score_gap: the mean score of one group's texts minus that of another's, or minus the mean of all groups."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("total", "judged", "other_total", "other_judged"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 2.",
)


def score_gap(
    total: NDArray[np.float64],
    judged: NDArray[np.float64],
    other_total: NDArray[np.float64],
    other_judged: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Difference of two means, each the sum over texts by how many there are.

    >>> float(score_gap(np.array([1.0]), np.array([2.0]), np.array([1.0]), np.array([4.0])))
    0.25
    """
    return ratio(total, judged) - ratio(other_total, other_judged)
