"""JSS: similarity of Gaussians fitted to the two score sets, by Jensen–Shannon divergence. 100 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.kit.gaussian import Fit, Floats, fit, fit_of_moments, moments

NEUTRAL = 100.0
BOUNDED = True
WEIGHTED = True
RANGE = (0.0, 100.0)
__all__ = ["BOUNDED", "CITATION", "NEUTRAL", "RANGE", "WEIGHTED", "jss", "moments", "of_moments"]
CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Eq. 7–9."

# Panels reach from below the lower component to above the upper one, with edges in the spread of each, so that
# a narrow component inside a wide one is met by panels of its own width. Off by less than 1e-7 (tests/test_measures.py).
EDGES = np.array([-8.0, -4.0, -1.5, 1.5, 4.0, 8.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
AT_ONCE = 256


def jss(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·(1 − JS)/(1 + |σ_st − σ_at|); JS in bits, against the two-component mixture, integrated numerically.

    >>> round(float(jss(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))), 4)
    65.6954
    >>> round(float(jss(np.array([0., 1., 2.]), np.array([10., 14., 18.]))), 4)
    0.5395
    """
    return _jss(fit(stereo), fit(anti))


def _jss(of_stereo: Fit, of_anti: Fit) -> NDArray[np.float64]:
    (mean_s, sd_s), (mean_a, sd_a) = of_stereo, of_anti
    value = 100.0 * (1 - jensen_shannon(mean_s, sd_s, mean_a, sd_a)) / (1 + np.abs(sd_s - sd_a))
    return np.asarray(value, dtype=np.float64)


def jensen_shannon(mean_p: Floats, sd_p: Floats, mean_q: Floats, sd_q: Floats) -> Floats:
    """JS divergence of two Gaussians in bits, between 0 and 1, by Gauss–Legendre panels.

    Some pairs at a time: all panels of a thousand resamples would not fit into a processor's cache.
    """
    arrays = [np.asarray(array, dtype=np.float64) for array in np.broadcast_arrays(mean_p, sd_p, mean_q, sd_q)]
    flat = [array.ravel() for array in arrays]
    parts = [_integrated(*(array[first : first + AT_ONCE] for array in flat)) for first in range(0, len(flat[0]), AT_ONCE)]
    return np.clip(np.concatenate(parts), 0.0, 1.0).reshape(arrays[0].shape) if parts else np.zeros(arrays[0].shape)


def _integrated(mean_p: Floats, sd_p: Floats, mean_q: Floats, sd_q: Floats) -> Floats:
    edges = np.concatenate([mean_p[:, None] + sd_p[:, None] * EDGES, mean_q[:, None] + sd_q[:, None] * EDGES], axis=-1)
    edges.sort(axis=-1)
    half = (edges[:, 1:] - edges[:, :-1])[..., None] / 2
    x = edges[:, :-1, None] + half * (1 + NODES)
    log_p, log_q = _log_density(x, mean_p, sd_p), _log_density(x, mean_q, sd_q)
    # ln(p/m) = ln 2 − ln(1 + q/p), and ln(1 + p/q) differs from ln(1 + q/p) by ln(q/p): one logarithm serves both.
    log_ratio = np.clip(log_q - log_p, -700.0, 700.0)
    ratio, p = np.exp(log_ratio), np.exp(log_p)
    far = np.abs(log_ratio) == 700.0
    q = np.where(far, np.exp(np.where(far, log_q, 0.0)), p * ratio) if far.any() else p * ratio
    rest = np.log(2) - np.log1p(ratio)
    integrand = p * rest + q * (rest + log_ratio)
    return np.asarray(np.sum(half * WEIGHTS * integrand, axis=(-1, -2)) / (2 * np.log(2)), dtype=np.float64)


def _log_density(x: Floats, mean: Floats, sd: Floats) -> Floats:
    density = (x - mean[:, None, None]) / sd[:, None, None]
    density *= density
    density *= -0.5
    density -= np.log(sd * np.sqrt(2 * np.pi))[:, None, None]
    return density


def of_moments(stereo: Floats, stereo_square: Floats, anti: Floats, anti_square: Floats, n: int) -> Floats:
    """From the means and mean squares of both scores."""
    return _jss(fit_of_moments(stereo, stereo_square, n), fit_of_moments(anti, anti_square, n))
