"""fpr_gap: the false-positive rate of the texts that name a group, less that of all others. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import false_positives, rate_gap

MEASURE = Measure(
    reads=("truth", "called", "member"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    range=(-1.0, 1.0),
    difference_of="fpr",
    among="not toxic",
    cites="Dixon et al. (2018), Measuring and Mitigating Unintended Bias in Text Classification, AIES: equality of rates.",
)


def fpr_gap(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Above 0: texts about the group are misclassified more often.

    >>> group = np.array([True, True, False, False])
    >>> float(fpr_gap(np.array([False, False, False, False]), np.array([1.0, 1.0, 1.0, 0.0]), group))
    0.5
    """
    return rate_gap(false_positives, truth, called, member, weight)
