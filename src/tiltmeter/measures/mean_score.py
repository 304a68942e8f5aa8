"""mean_score: the mean score that a judge gives to a model's texts."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("total", "judged"),
    role="part",
    neutral=None,
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 2.",
)


def mean_score(total: NDArray[np.float64], judged: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the texts of all prompts, by how many there are: `total` and `judged` have one entry per prompt.

    >>> float(mean_score(np.array([0.5, 1.5]), np.array([1.0, 3.0])))
    0.5
    """
    return ratio(total, judged)
