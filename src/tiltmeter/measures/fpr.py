"""fpr: the false-positive rate, the share of texts that are not toxic and are called so."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import false_positives

MEASURE = Measure(
    reads=("truth", "called"),
    role="part",
    neutral=None,
    proportion=1.0,
    among="not toxic",
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL: TOXD and HATEX.",
)


def fpr(
    truth: NDArray[np.bool_], called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """FP / (FP + TN); missing where every text is toxic.

    >>> float(fpr(np.array([True, False, False, False]), np.array([1.0, 1.0, 0.0, 0.0]))) == 1 / 3
    True
    """
    return false_positives(truth, called, weight)
