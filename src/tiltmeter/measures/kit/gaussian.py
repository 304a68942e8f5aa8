"""Gaussians fitted to two sets of scores, and the divergences between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fit(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (ddof 1) over the last axis; a spread of zero is no spread: not a number."""
    n = scores.shape[-1]
    mean = np.mean(scores, axis=-1)
    if n < 2:
        return mean, np.full(np.shape(mean), np.nan)
    deviation = np.std(scores, axis=-1, ddof=1)
    # Equal scores may leave a rounding error behind where their mean is not exact.
    flat = np.ptp(scores, axis=-1) == 0
    return mean, np.where(flat, np.nan, deviation)


def kl(mean_p: Floats, sd_p: Floats, mean_q: Floats, sd_q: Floats) -> Floats:
    """KL(p‖q) = ½(r + ((μ_p−μ_q)/σ_q)² − 1 − ln r), r = (σ_p/σ_q)²."""
    ratio = (sd_p / sd_q) ** 2
    return 0.5 * (ratio + ((mean_p - mean_q) / sd_q) ** 2 - 1.0 - np.log(ratio))
