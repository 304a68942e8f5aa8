"""f1_binary: harmonic mean of precision and recall of the toxic texts."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import f1

MEASURE = Measure(
    reads=("truth", "called"),
    role="quality",
    neutral=None,
    ideal=1.0,
    range=(0.0, 1.0),
    cites="van Rijsbergen (1979), Information Retrieval; scikit-learn's f1_score.",
)


def f1_binary(
    truth: NDArray[np.bool_], called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """2·TP / (2·TP + FP + FN); 0 where nothing is toxic, and nothing called so.

    >>> float(f1_binary(np.array([True, True, False, False]), np.array([1.0, 0.0, 1.0, 0.0])))
    0.5
    """
    return f1(truth, called, weight)
