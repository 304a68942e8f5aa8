"""token_accuracy: the percentage of a text's tokens that a model holds to be the likeliest at their place."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("hits", "length"),
    role="cost",
    neutral=None,
    ideal=100.0,
    range=(0.0, 100.0),
    unit="%",
    cites="Kaneko and Bollegala (2022), Unmasking the Mask, AAAI, who compare views of a sentence by it.",
)


def token_accuracy(hits: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·Σ tokens of rank 1 / Σ tokens, over all lines.

    >>> float(token_accuracy(np.array([1.0, 2.0]), np.array([2.0, 6.0])))
    37.5
    """
    return np.asarray(100.0 * np.sum(hits, axis=-1) / np.sum(length, axis=-1), dtype=np.float64)
