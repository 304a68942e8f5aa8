"""Increased log-probability score: what a group's presence adds to the log-probability of an attribute. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("logprob", "prior"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    unit="nats",
    cites="Kurita et al. (2019), Measuring Bias in Contextualized Word Representations; Cao et al. (2022), ACL.",
)


def ilps(logprob: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of log P(x at its mask | y) − log P(x at its mask | y masked too) over attributes x.

    >>> float(ilps(np.array([-2.0, -3.0]), np.array([-2.5, -3.0])))
    0.25
    """
    return np.asarray(np.mean(logprob - prior, axis=-1), dtype=np.float64)
