"""f1_macro: mean of the F1 of the toxic texts and that of the others."""

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
    cites="The measure of Mathew et al. (2021), HateXplain; scikit-learn's f1_score(average='macro').",
)


def f1_macro(
    truth: NDArray[np.bool_], called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Both labels count alike, however many texts have them.

    >>> round(float(f1_macro(np.array([True, True, True, False]), np.array([1.0, 1.0, 0.0, 0.0]))), 6)
    0.733333
    """
    return np.asarray((f1(truth, called, weight) + f1(~truth, 1.0 - called, weight)) / 2, dtype=np.float64)
