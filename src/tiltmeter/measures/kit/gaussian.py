"""Gaussians fitted to two sets of scores, and the divergences between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Fit = tuple[Floats, Floats]


def fit(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (ddof 1) over the last axis; a standard deviation of zero is given as NaN."""
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


def moments(stereo: Floats, anti: Floats) -> tuple[Floats, ...]:
    """Contribution of an item to the means and spreads of both scores. A common shift cancels out, so it is removed."""
    centre = (np.mean(stereo) + np.mean(anti)) / 2
    centred_stereo, centred_anti = stereo - centre, anti - centre
    return centred_stereo, centred_stereo**2, centred_anti, centred_anti**2


def fit_of_moments(mean: Floats, square: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (ddof 1) from the mean and the mean square of n; NaN where it is zero, up to rounding."""
    variance = square - mean**2
    flat = (variance <= 1e-12 * square) | (n < 2)
    return mean, np.where(flat, np.nan, np.sqrt(np.where(flat, 0.0, variance) * (n / np.maximum(n - 1, 1))))
