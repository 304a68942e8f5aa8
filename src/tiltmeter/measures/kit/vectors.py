"""Cosines between sets of vectors, and the association that WEAT and similar tests use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors of length 1, over the last axis; NaN for a vector of zeros, which has no direction."""
    whole = np.asarray(vectors, dtype=np.float64)
    # By the largest entry first: squares of very small or very large entries would leave the range of numbers.
    largest = np.max(np.abs(whole), axis=-1, keepdims=True)
    scaled = np.divide(whole, largest, out=np.full_like(whole, np.nan), where=largest > 0)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True), dtype=np.float64)


def cosines(targets: NDArray[np.floating], attributes: NDArray[np.floating]) -> Floats:
    """One row per target, one column per attribute."""
    return np.asarray(unit(targets) @ np.swapaxes(unit(attributes), -1, -2), dtype=np.float64)


def association(targets: NDArray[np.floating], a: NDArray[np.floating], b: NDArray[np.floating]) -> Floats:
    """s(w, A, B) = mean cos(w, a) − mean cos(w, b), one per target.

    >>> association(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])).tolist()
    [1.0]
    """
    return np.asarray(cosines(targets, a).mean(axis=-1) - cosines(targets, b).mean(axis=-1), dtype=np.float64)


def spread(values: Floats) -> Floats:
    """Standard deviation (ddof 1) over the last axis; NaN where it is zero, up to rounding."""
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    deviation = np.std(values, axis=-1, ddof=1)
    flat = np.ptp(values, axis=-1) <= 1e-12 * np.maximum(1.0, np.max(np.abs(values), axis=-1))
    return np.asarray(np.where(flat, np.nan, deviation), dtype=np.float64)
