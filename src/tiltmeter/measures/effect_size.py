"""Effect size of WEAT and SEAT: how much closer X than Y is to A than to B, in standard deviations. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.vectors import spread

MEASURE = Measure(
    reads=("x", "y"),
    role="part",
    neutral=0.0,
    direction="two-sided",
    unit="standard deviations",
    cites="Caliskan, Bryson and Narayanan (2017), Science 356; May et al. (2019), On Measuring Social Biases, NAACL.",
)


def effect_size(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """d = (mean s over X − mean s over Y)/std of s over X ∪ Y (ddof 1); x and y are associations s(w, A, B).

    >>> round(float(effect_size(np.array([1.0, 3.0]), np.array([0.0, 0.0]))), 6)
    1.414214
    """
    both = np.concatenate([x, y], axis=-1)
    return np.asarray((np.mean(x, axis=-1) - np.mean(y, axis=-1)) / spread(both), dtype=np.float64)
