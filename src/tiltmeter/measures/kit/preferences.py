"""Preferences: the higher of two scores."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def preferred(first: Floats, second: Floats) -> Floats:
    """1 where the first score is higher, 0 where it is not, NaN where one is missing.

    >>> preferred(np.array([2.0, 1.0, np.nan]), np.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 0.0, nan]
    """
    return np.where(np.isnan(first) | np.isnan(second), np.nan, first > second)
