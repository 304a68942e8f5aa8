"""One group's own effect size: how much closer its word is to A than to B, in standard deviations. 0 is neutral.

Cao et al. need a number per protected group and print no formula; this is our reading (docs/associations.md).
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.vectors import spread

MEASURE = Measure(
    reads=("a", "b"),
    role="part",
    neutral=0.0,
    direction="two-sided",
    unit="standard deviations",
    cites="Caliskan et al. (2017), Science 356, WEFAT; used for groups by Cao et al. (2022), ACL, as we read it.",
)


def single_effect(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(mean cos(w, a) − mean cos(w, b))/std of cos(w, ·) over A ∪ B (ddof 1); a and b are the cosines of one word.

    >>> round(float(single_effect(np.array([0.5, 0.7]), np.array([0.1, 0.1]))), 6)
    1.666667
    """
    both = np.concatenate([a, b], axis=-1)
    return np.asarray((np.mean(a, axis=-1) - np.mean(b, axis=-1)) / spread(both), dtype=np.float64)
