"""negative_share: the share of a model's texts that a judge calls negative (toxic, stereotypical)."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("negatives", "judged"),
    role="part",
    neutral=None,
    range=(0.0, 1.0),
    proportion=1.0,
    cites="Dhamala et al. (2021), BOLD, FAccT.",
)


def negative_share(negatives: NDArray[np.float64], judged: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative texts of all prompts, by how many were judged.

    >>> float(negative_share(np.array([1.0, 0.0]), np.array([2.0, 2.0])))
    0.25
    """
    return ratio(negatives, judged)
