"""fpr_variance_chance: the variance over groups that chance alone would give, if all had the same false-positive rate."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.fpr_variance import fpr_variance

MEASURE = Measure(
    reads=("truth", "called", "members"),
    role="part",
    neutral=None,
    # Where texts are clustered, the formula does not hold: who is called toxic is permuted, and this is averaged.
    chance_of=fpr_variance,
    cites="The binomial variance p(1 − p)/n of a rate, averaged over groups: fpr_variance when there is no difference.",
)


def fpr_variance_chance(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """p(1 − p) · mean(1/n_g): p is the rate of the domain's texts, n_g how many texts of a group are not toxic.

    >>> members = np.array([[True, True, False, False], [False, False, True, True]])
    >>> float(fpr_variance_chance(np.zeros(4, bool), np.array([1.0, 1.0, 0.0, 0.0]), members))
    0.125
    """
    weights = np.ones(truth.shape[-1]) if weight is None else weight
    among = (members & ~truth).astype(np.float64)
    sizes = weights @ among.T
    anywhere = among.any(axis=0)
    total = (weights * anywhere).sum(axis=-1)
    rate = np.divide(
        (weights * (called * anywhere)).sum(axis=-1), total, out=np.full(np.shape(total), np.nan), where=total > 0
    )
    there = (sizes > 0).sum(axis=-1)
    inverse = np.divide(1.0, sizes, out=np.zeros(sizes.shape), where=sizes > 0).sum(axis=-1) / np.maximum(there, 1)
    return np.asarray(np.where(there > 1, rate * (1 - rate) * inverse, np.nan), dtype=np.float64)
