"""JSS: similarity of Gaussians fitted to the two score sets, by Jensen–Shannon divergence. 100 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.kit.gaussian import Floats, fit

NEUTRAL = 100.0
BOUNDED = True
WEIGHTED = True
RANGE = (0.0, 100.0)
CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Eq. 7–9."

# Panels reach from below the lower component to above the upper one, with edges in the spread of each, so that
# a narrow component inside a wide one is met by panels of its own width. Off by less than 1e-7 (tests/test_measures.py).
EDGES = np.array([-8.0, -4.0, -1.5, 1.5, 4.0, 8.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def jss(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·(1 − JS)/(1 + |σ_st − σ_at|); JS in bits, against the two-component mixture, integrated numerically.

    >>> round(float(jss(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))), 4)
    65.6954
    >>> round(float(jss(np.array([0., 1., 2.]), np.array([10., 14., 18.]))), 4)
    0.5395
    """
    (mean_s, sd_s), (mean_a, sd_a) = fit(stereo), fit(anti)
    value = 100.0 * (1 - jensen_shannon(mean_s, sd_s, mean_a, sd_a)) / (1 + np.abs(sd_s - sd_a))
    return np.asarray(value, dtype=np.float64)


def jensen_shannon(mean_p: Floats, sd_p: Floats, mean_q: Floats, sd_q: Floats) -> Floats:
    """JS divergence of two Gaussians in bits, between 0 and 1, by Gauss–Legendre panels."""
    of_p = np.asarray(mean_p)[..., None] + np.asarray(sd_p)[..., None] * EDGES
    of_q = np.asarray(mean_q)[..., None] + np.asarray(sd_q)[..., None] * EDGES
    edges = np.sort(np.concatenate([of_p, of_q], axis=-1), axis=-1)
    half = (edges[..., 1:] - edges[..., :-1])[..., None] / 2
    x = edges[..., :-1, None] + half * (1 + NODES)
    log_p, log_q = _log_density(x, mean_p, sd_p), _log_density(x, mean_q, sd_q)
    # ln(p/m) = ln 2 − ln(1 + q/p), and ln(1 + p/q) differs from ln(1 + q/p) by ln(q/p): one logarithm serves both.
    log_ratio = np.clip(log_q - log_p, -700.0, 700.0)
    soft = np.log1p(np.exp(log_ratio))
    integrand = np.exp(log_p) * (np.log(2) - soft) + np.exp(log_q) * (np.log(2) - soft + log_ratio)
    value = np.sum(half * WEIGHTS * integrand, axis=(-1, -2)) / (2 * np.log(2))
    return np.asarray(np.clip(value, 0.0, 1.0), dtype=np.float64)


def _log_density(x: Floats, mean: Floats, sd: Floats) -> Floats:
    centre, spread = np.asarray(mean)[..., None, None], np.asarray(sd)[..., None, None]
    density: Floats = -0.5 * ((x - centre) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))
    return density
