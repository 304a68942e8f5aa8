"""Agreement of seeds, and of metrics over doses: intraclass correlations, and correlations with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNRELATED = 0.3


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its 95 % interval and the number of rows it is of."""

    value: float
    low: float
    high: float
    n: int


def intraclass(values: Floats, confidence: float = 0.95) -> Agreement:
    """ICC(1) of targets × replicates, one-way, with the interval by F (Shrout and Fleiss, 1979).

    >>> rated = np.array([[9.0, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> round(intraclass(rated).value, 2)
    0.17
    """
    from scipy.stats import f

    values = values[np.isfinite(values).all(1)]
    n, k = values.shape
    if n < 2 or k < 2:
        return Agreement(np.nan, np.nan, np.nan, n)
    between = k * values.mean(1).var(ddof=1)
    within = values.var(axis=1, ddof=1).mean()
    ratio, half = between / within, 0.5 + confidence / 2
    low, high = ratio / f.ppf(half, n - 1, n * (k - 1)), ratio * f.ppf(half, n * (k - 1), n - 1)
    value, low, high = ((one - 1) / (one + k - 1) for one in (ratio, low, high))
    return Agreement(float(value), float(low), float(high), n)


def within_seed_correlation(x: Floats, y: Floats, draws: int = 2000, random_seed: int = 0) -> Agreement:
    """Correlate two readings (doses × seeds) after each seed's mean is removed; the interval resamples seeds."""
    x, y = x - x.mean(0), y - y.mean(0)
    sums = np.array([(x * y).sum(0), (x * x).sum(0), (y * y).sum(0)])
    drawn = np.random.default_rng(random_seed).integers(0, x.shape[1], (draws, x.shape[1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        product, first, second = sums[:, drawn].sum(-1)
        some = product / np.sqrt(first * second)
        value = sums[0].sum() / np.sqrt(sums[1].sum() * sums[2].sum())
    low, high = np.nanquantile(some, [0.025, 0.975])
    return Agreement(float(value), float(low), float(high), x.size)


def correlation_interval(value: float, doses: int, seeds: int, confidence: float = 0.95) -> tuple[float, float]:
    """Fisher's interval of a correlation after so many means were removed: it assumes normal noise, the same for all."""
    from scipy.stats import norm

    z, half = (
        np.arctanh(np.clip(value, -0.9999, 0.9999)),
        norm.ppf(0.5 + confidence / 2) / np.sqrt(doses * seeds - seeds - 2),
    )
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def smallest_correlation(doses: int, seeds: int) -> float:
    """The correlation that would have been significant with 80 % power, by Fisher's approximation.

    >>> round(smallest_correlation(3, 5), 2), round(smallest_correlation(5, 5), 2)
    (0.76, 0.58)
    """
    from scipy.stats import norm

    return float(np.tanh((norm.ppf(0.975) + norm.ppf(0.8)) / np.sqrt(doses * seeds - seeds - 2)))


def related(low: float, high: float) -> str:
    """Word a correlation by its interval: unrelated only if all of it is within ±0.3."""
    if low > 0 or high < 0:
        return "together" if low > 0 else "opposite"
    return "unrelated" if low > -UNRELATED and high < UNRELATED else "undecided"
