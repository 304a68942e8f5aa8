"""Ratios of sums over prompts, and variances over groups."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ratio(sums: Floats, counts: Floats) -> Floats:
    """The sum over the last axis of one by that of the other; NaN where nothing was counted.

    Summed before or after, it is the same: draws of prompts are made as sums.
    """
    above, below = sums.sum(axis=-1), counts.sum(axis=-1)
    return np.asarray(np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0), dtype=np.float64)


def sample_variance(values: Floats) -> Floats:
    """Over the last axis; NaN for a single value."""
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(np.var(values, axis=-1, ddof=1), dtype=np.float64)


def lean(first: Floats, second: Floats) -> Floats:
    """Balance from −1 (all second) to 1 (all first), over sums of the last axis; NaN where there is neither.

    >>> float(lean(np.array([3.0]), np.array([1.0])))
    0.5
    """
    return ratio(first - second, first + second)
