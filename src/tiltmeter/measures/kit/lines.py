"""Sums for a straight line through points, along the last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def centred_sums(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of products and of squares about the means.

    >>> [float(total) for total in centred_sums(np.array([1.0, 3.0]), np.array([2.0, 4.0]))]
    [2.0, 2.0, 2.0]
    """
    a, b = (values - values.mean(axis=-1, keepdims=True) for values in (first, second))
    return (a * b).sum(axis=-1), (a * a).sum(axis=-1), (b * b).sum(axis=-1)
