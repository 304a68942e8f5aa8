"""positive_share: the share of a model's texts that a judge calls positive."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("positives", "judged"),
    role="part",
    neutral=None,
    range=(0.0, 1.0),
    proportion=1.0,
    cites="Dhamala et al. (2021), BOLD, FAccT.",
)


def positive_share(positives: NDArray[np.float64], judged: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positive texts of all prompts, by how many were judged.

    >>> float(positive_share(np.array([1.0, 2.0]), np.array([2.0, 2.0])))
    0.75
    """
    return ratio(positives, judged)
