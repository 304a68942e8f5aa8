"""Averages over sentences with a match: those without one are NaN and are excluded, as in the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_of_matched(values: Floats) -> Floats:
    """Mean along the last axis, NaN values excluded; NaN where no value is left."""
    there = ~np.isnan(values)
    count = there.sum(axis=-1)
    total = np.where(there, values, 0.0).sum(axis=-1)
    mean = np.divide(total, count, out=np.full(np.shape(count), np.nan), where=count > 0)
    return np.asarray(mean, dtype=np.float64)


def sd_of_matched(values: Floats) -> Floats:
    """Standard deviation (ddof 1) along the last axis, NaN values excluded; needs two values."""
    there = ~np.isnan(values)
    count = there.sum(axis=-1)
    apart = np.where(there, values - np.expand_dims(mean_of_matched(values), -1), 0.0)
    total = (apart**2).sum(axis=-1)
    variance = np.divide(total, count - 1, out=np.full(np.shape(count), np.nan), where=count > 1)
    return np.asarray(np.sqrt(variance), dtype=np.float64)


def normalised(rank: Floats, k: int) -> Floats:
    """Eq. 2 for one sentence: rank 1 becomes 1, rank k becomes 0."""
    return np.asarray((rank - 1) / (k - 1) * (0 - 1) + 1, dtype=np.float64)
