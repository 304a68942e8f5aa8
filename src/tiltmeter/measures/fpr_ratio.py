"""fpr_ratio: the lowest false-positive rate of a domain's groups divided by the highest. 1 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import shares

MEASURE = Measure(
    reads=("truth", "called", "members"),
    role="bias",
    neutral=1.0,
    direction="one-sided",
    range=(0.0, 1.0),
    cites="Hardt, Price and Srebro (2016); fairlearn's ratio of rates (the four-fifths rule reads such a ratio).",
)


def fpr_ratio(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Missing where no group has a false positive: 0 of 0 is no ratio.

    >>> members = np.array([[True, True, False, False], [False, False, True, True]])
    >>> float(fpr_ratio(np.zeros(4, bool), np.array([1.0, 0.0, 1.0, 1.0]), members))
    0.5
    """
    rates = shares(called, members & ~truth, weight)
    known = ((~np.isnan(rates)).sum(axis=-1) > 1) & (np.nan_to_num(rates).max(axis=-1) > 0)
    lowest, highest = np.where(np.isnan(rates), np.inf, rates).min(axis=-1), np.nan_to_num(rates).max(axis=-1)
    return np.asarray(np.divide(lowest, highest, out=np.full(np.shape(highest), np.nan), where=known), dtype=np.float64)
