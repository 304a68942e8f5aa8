"""Averages over targets: StereoSet weighs each target term the same, however many items it has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def macro_mean(values: NDArray[Any], target: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over targets of the mean within each target, along the last axis."""
    codes, counts = np.unique(target, return_inverse=True, return_counts=True)[1:]
    weights = 1.0 / (counts[codes] * len(counts))
    return np.asarray(values @ weights, dtype=np.float64)
