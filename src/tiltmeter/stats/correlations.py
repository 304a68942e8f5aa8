"""Correlation over few points (models): r, ρ, p by permutation, an interval by resampling points, and what noise hides."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.attenuation import Clear, clear
from tiltmeter.stats.design import Design

Floats = NDArray[np.float64]
LEAST = 4
"""Points below which nothing is said: Fisher's z has no spread with three."""


@dataclass(frozen=True)
class Correlated:
    """Two columns and how they go together. `clear_r` is r as it would be without errors of measurement (attenuation.py)."""

    n: int
    r: float
    low: float
    high: float
    p: float
    rho: float
    p_rho: float
    clear_r: float
    clear_low: float
    clear_high: float
    reliability_x: float
    reliability_y: float


def correlate(
    x: Floats,
    y: Floats,
    *,
    errors: tuple[Floats, Floats] | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Correlated:
    """Pearson's r and Spearman's ρ of complete points. `errors` are standard errors of the values, for `clear_r`."""
    from scipy.stats import rankdata

    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(x)
    nothing = float("nan")
    if n < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlated(n, *[nothing] * 11)
    random = np.random.default_rng(seed)
    r, ranks = float(pearson(x, y)), (rankdata(x), rankdata(y))
    rho = float(pearson(*ranks))
    orders = _orders(n, resamples, random)
    low, high = interval(x, y, resamples, confidence, random)
    found = (
        clear(x, y, errors, (low, high), confidence, random)
        if errors
        else Clear(nothing, nothing, nothing, (nothing, nothing))
    )
    without = (found.r, found.low, found.high, *found.reliabilities)
    return Correlated(n, r, low, high, _p(x, y, r, orders), rho, _p(*ranks, rho, orders), *without)


def pearson(x: Floats, y: Floats) -> Floats:
    """r along the last axis; NaN where a column is constant.

    >>> float(pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])))
    1.0
    """
    x, y = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def interval(x: Floats, y: Floats, resamples: int, confidence: float, random: np.random.Generator) -> tuple[float, float]:
    """Points drawn with replacement, on Fisher's scale, around r, widened by √(n / (n − 3)).

    Drawn points vary less than new ones would: with ten, plain percentiles of r cover 95 % in some 90 % of cases only
    (benchmarks/correlation_coverage.py). On Fisher's scale the spread of z is that of √(1 / (n − 3)), not √(1 / n).
    """
    n = len(x)
    drawn = np.concatenate(list(Design.independent(n).indices(resamples, random)))
    z = np.arctanh(np.clip(pearson(x[drawn], y[drawn]), -0.999999, 0.999999))
    z = z[np.isfinite(z)]
    middle = float(np.arctanh(np.clip(pearson(x, y), -0.999999, 0.999999)))
    tails = np.quantile(z - np.median(z), [(1 - confidence) / 2, (1 + confidence) / 2]) * sqrt(n / (n - 3))
    return float(np.tanh(middle + tails[0])), float(np.tanh(middle + tails[1]))


def smallest_noticed(n: int, power: float = 0.8, level: float = 0.05) -> float:
    """The |r| that n points find with this power, two-sided, by Fisher's z.

    >>> round(smallest_noticed(10), 2), round(smallest_noticed(19), 2)
    (0.79, 0.6)
    """
    from scipy.stats import norm

    if n < LEAST:
        return 1.0
    return float(np.tanh((norm.ppf(1 - level / 2) + norm.ppf(power)) / sqrt(n - 3)))


def _orders(n: int, resamples: int, random: np.random.Generator) -> NDArray[np.int64]:
    """All orders of few points, or random ones of many, the given one first."""
    ways, is_exact = Design.independent(n).permute(max(resamples, 9999), random)
    orders = list(ways)
    return np.concatenate(orders if is_exact else [np.arange(n)[None], *orders])


def _p(x: Floats, y: Floats, observed: float, orders: NDArray[np.int64]) -> float:
    """The share of orders with at least this correlation, in either direction; the given order counts."""
    assert len(orders) >= min(factorial(len(x)), 2)
    return float(np.mean(np.abs(pearson(x, y[orders])) >= abs(observed) - 1e-12))
