"""fnr: the false-negative rate, the share of toxic texts that are not called so."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import false_negatives

MEASURE = Measure(
    reads=("truth", "called"),
    role="part",
    neutral=None,
    proportion=1.0,
    among="toxic",
    cites="Dixon et al. (2018), Measuring and Mitigating Unintended Bias in Text Classification, AIES.",
)


def fnr(
    truth: NDArray[np.bool_], called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """FN / (FN + TP); missing where no text is toxic.

    >>> float(fnr(np.array([True, True, False]), np.array([1.0, 0.0, 1.0])))
    0.5
    """
    return false_negatives(truth, called, weight)
