"""Kurita's direction of ILPS: one group's words against another's, given an attribute, minus their priors. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("first", "first_prior", "second", "second_prior"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    unit="nats",
    cites="Kurita et al. (2019), Measuring Bias in Contextualized Word Representations, GeBNLP.",
)


def ilps_kurita(
    first: NDArray[np.float64],
    first_prior: NDArray[np.float64],
    second: NDArray[np.float64],
    second_prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Mean over attributes of (log P − log prior) of the first group minus that of the second.

    >>> float(ilps_kurita(np.array([-2.0]), np.array([-3.0]), np.array([-4.0]), np.array([-3.5])))
    1.5
    """
    return np.asarray(np.mean((first - first_prior) - (second - second_prior), axis=-1), dtype=np.float64)
