"""label_accuracy: the share of texts that get their label."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import share

MEASURE = Measure(
    reads=("truth", "called"),
    role="quality",
    neutral=None,
    ideal=1.0,
    range=(0.0, 1.0),
    proportion=1.0,
    cites="The share of agreement with the labels; scikit-learn's accuracy_score.",
)


def label_accuracy(
    truth: NDArray[np.bool_], called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Share of texts called what they are.

    >>> float(label_accuracy(np.array([True, False, False, True]), np.array([1.0, 0.0, 1.0, 1.0])))
    0.75
    """
    return share(np.where(truth, called, 1.0 - called), np.ones_like(truth), weight)
