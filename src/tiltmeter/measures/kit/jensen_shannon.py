"""The Jensen–Shannon divergence of two Gaussians, for one pair and for hundreds of thousands of resamples.

It has no closed form, but it depends on two numbers only: how far apart the means are, in units of the geometric mean of
the standard deviations, and the logarithm of their ratio; of both, the sign does not matter. It is a smooth function of
them. So the plane of the two is cut into small squares, in each of which it is interpolated by Chebyshev polynomials
through 14 × 14 integrated values; far out it is integrated. A value depends on nothing but its two Gaussians.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Panels have edges in the spread of each component, so that a narrow one inside a wide one is met by panels of its own
# width. Off by less than 1e-12, the interpolation by less than 1e-11 (tests/test_measures.py, by another method).
_ONE_SIDE = [1.5, 3.0, 4.5, 6.0, 9.0]
EDGES = np.array([-edge for edge in _ONE_SIDE[::-1]] + [0.0] + _ONE_SIDE)
NEAR, FEW, MANY = (2.0, 1.0), 8, 16
"""Nodes in a panel: few are enough where the two are not far apart, and not of very different spread."""
AT_ONCE = 64
"""Pairs integrated together: more would not fit into a processor's cache."""
POINTS = 1024
SQUARE = 0.25
DEGREES = 14
REACH = (4.0, 2.0)
"""How far the squares go. The resamples of all but tiny groups lie inside."""
FARTHEST, WIDEST = 100.0, 80.0
"""Beyond either (the first in units of the wider spread) the divergence is 1 to the last digit."""


def jensen_shannon(mean_p: Floats, sd_p: Floats, mean_q: Floats, sd_q: Floats) -> Floats:
    """JS divergence in bits, between 0 and 1; not a number where a standard deviation is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        apart = np.abs(np.subtract(mean_p, mean_q)) / (np.sqrt(sd_p) * np.sqrt(sd_q))
        spread = np.abs(np.log(sd_p) - np.log(sd_q))
    spread = np.minimum(spread, WIDEST)
    apart, spread = np.broadcast_arrays(np.minimum(apart, FARTHEST * np.exp(spread / 2)), spread)
    return np.clip(_divergence(apart.ravel(), spread.ravel()), 0.0, 1.0).reshape(apart.shape)


def _divergence(apart: Floats, spread: Floats) -> Floats:
    values = np.zeros(len(apart))  # of equal Gaussians it is 0, and no rounding may make it more
    differ = ~((apart == 0) & (spread == 0))
    inside = (apart < REACH[0]) & (spread < REACH[1])
    others = np.flatnonzero(differ & ~inside)
    values[others] = _integrated(apart[others], spread[others])
    within = np.flatnonzero(differ & inside)
    places = [(array[within] / SQUARE).astype(np.int64) for array in (apart, spread)]
    square = places[0] * round(REACH[1] / SQUARE) + places[1]
    order = np.argsort(square, kind="stable")
    starts = np.flatnonzero(np.diff(square[order], prepend=-1))
    for chosen in np.split(order, starts[1:]) if len(order) else ():
        at = within[chosen]
        values[at] = _interpolated(int(places[0][chosen[0]]), int(places[1][chosen[0]]), apart[at], spread[at])
    return values


def _interpolated(x: int, y: int, apart: Floats, spread: Floats) -> Floats:
    """Values inside one square of the plane, from its polynomial; some thousands at a time, to stay in a cache."""
    coefficients, values = _coefficients(x, y).T, np.empty(len(apart))
    for first in range(0, len(apart), POINTS):
        at = slice(first, first + POINTS)
        across, along = _polynomials(2 * (apart[at] / SQUARE - x) - 1), _polynomials(2 * (spread[at] / SQUARE - y) - 1)
        along *= coefficients @ across
        along.sum(axis=0, out=values[at])
    return values


def _polynomials(x: Floats) -> Floats:
    """Chebyshev polynomials of the first kind, degree × points: T(n+1) = 2x·T(n) − T(n−1)."""
    values = np.empty((DEGREES, len(x)))
    values[0], values[1] = 1.0, x
    twice = 2 * x
    for n in range(2, DEGREES):
        np.multiply(twice, values[n - 1], out=values[n])
        values[n] -= values[n - 2]
    return values


@cache
def _coefficients(x: int, y: int) -> Floats:
    """The polynomial of one square: degrees across × degrees along."""
    nodes = np.cos(np.pi * (np.arange(DEGREES) + 0.5) / DEGREES)
    across, along = np.meshgrid(SQUARE * (x + (1 + nodes) / 2), SQUARE * (y + (1 + nodes) / 2), indexing="ij")
    values = _integrated(across.ravel(), along.ravel()).reshape(DEGREES, DEGREES)
    inverse = _polynomials(nodes) * 2 / DEGREES  # the polynomials are orthogonal on these nodes
    inverse[0] /= 2
    return np.asarray(inverse @ values @ inverse.T, dtype=np.float64)


def _integrated(apart: Floats, spread: Floats) -> Floats:
    """Integrate by Gauss–Legendre panels, some pairs at a time."""
    near = (apart < NEAR[0]) & (spread < NEAR[1])
    values = np.empty(len(apart))
    for nodes, there in ((FEW, np.flatnonzero(near)), (MANY, np.flatnonzero(~near))):
        for first in range(0, len(there), AT_ONCE):
            at = there[first : first + AT_ONCE]
            values[at] = _panels(apart[at], spread[at], *_legendre(nodes))
    return values


@cache
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return np.asarray(places, dtype=np.float64), np.asarray(weights, dtype=np.float64)


def _panels(apart: Floats, spread: Floats, nodes: Floats, weights: Floats) -> Floats:
    """∫ p ln(p/m) + q ln(q/m), m = (p + q)/2, for p = N(apart, σ²) and the narrower q = N(0, 1/σ²)."""
    sd = np.exp(spread / 2)
    edges = np.concatenate([apart[:, None] + sd[:, None] * EDGES, EDGES / sd[:, None]], axis=-1)
    edges.sort(axis=-1)
    half = (edges[:, 1:] - edges[:, :-1])[..., None] / 2
    x = edges[:, :-1, None] + half * (1 + nodes)
    log_p = _log_density(x - apart[:, None, None], sd[:, None, None])
    log_q = _log_density(x, 1 / sd[:, None, None])
    # ln(p/m) = ln 2 − ln(1 + q/p), and ln(1 + p/q) differs from ln(1 + q/p) by ln(q/p): one logarithm serves both.
    log_ratio = np.clip(log_q - log_p, -700.0, 700.0)
    rest = np.log(2) - np.log1p(np.exp(log_ratio))
    integrand = np.exp(log_p) * rest + np.exp(log_q) * (rest + log_ratio)
    return np.asarray(np.sum(half * weights * integrand, axis=(-1, -2)) / (2 * np.log(2)), dtype=np.float64)


def _log_density(x: Floats, sd: Floats) -> Floats:
    density = x / sd
    density *= density
    density *= -0.5
    density -= np.log(sd * np.sqrt(2 * np.pi))
    return density
