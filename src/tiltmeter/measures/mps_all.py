"""mps_all: mean probability score over all sentences, those without a match counting 0."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("probability",),
    role="part",
    neutral=None,
    counts_unmatched=True,
    variant_of="mps",
    cites="Doughman et al. (2023), SEXISTLY, Eq. 1 as printed: N is the total number of masked sentences.",
)


def mps_all(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/N Σ probability, N = all sentences.

    >>> round(float(mps_all(np.array([0.28, 0.044, np.nan, 0.086]))), 4)
    0.1025
    """
    return np.asarray(np.where(np.isnan(probability), 0.0, probability).mean(axis=-1), dtype=np.float64)
