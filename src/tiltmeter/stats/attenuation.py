"""Correction of a correlation for errors of measurement (Spearman 1904): r as it would be without them, with an interval.

Few points estimate a variance badly, and a difference of two variances worse. So the variances are estimated without bias of
their median, and nothing is said where less than `LEAST_SHARE` of a variance is more than error: there no estimate of r is
any good (benchmarks/correlation_coverage.py shows both).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEAST_SHARE = 0.4
"""The smallest reliability with which a correlation is corrected."""
DRAWS = 10_000


@dataclass(frozen=True)
class Clear:
    """r without errors of measurement, which may exceed 1 by chance; its interval; and the reliabilities of both columns."""

    r: float
    low: float
    high: float
    reliabilities: tuple[float, float]


def clear(
    x: Floats,
    y: Floats,
    errors: tuple[Floats, Floats],
    seen: tuple[float, float],
    confidence: float,
    random: np.random.Generator,
) -> Clear:
    """Correlation without noise. NaN where the reliability of a column is unknown or below `LEAST_SHARE`.

    The interval lies in the middle between two: one draws variances as well and takes scores for normal, and is too short
    for skewed ones; the other one, that of r as it is `seen` over the reliabilities, is rather too long.
    """
    shares = reliability(x, errors[0]), reliability(y, errors[1])
    if not all(share >= LEAST_SHARE for share in shares):
        return Clear(nan, nan, nan, shares)
    noise = float(np.mean(np.square(errors[0]))), float(np.mean(np.square(errors[1])))
    low, high = _interval(np.cov(x, y), noise, len(x), confidence, random)
    wide = [float(np.clip(edge / sqrt(shares[0] * shares[1]), -1.0, 1.0)) for edge in seen]
    return Clear(disattenuated(np.cov(x, y), noise, len(x)), (low + wide[0]) / 2, (high + wide[1]) / 2, shares)


def reliability(values: Floats, errors: Floats) -> float:
    """1 − mean squared standard error / variance; NaN if a standard error is unknown.

    Below 0 the errors are overstated, or the points happen to lie close together; it is left so, since a 0 would hide that.

    >>> reliability(np.array([0.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    0.75
    """
    return float(1.0 - np.mean(np.square(errors)) / np.var(values, ddof=1))


def noise_once(variances: Floats, errors: Floats, groups: Floats) -> Floats:
    """Standard errors of variances over groups, read off resamples, without the noise that these add a second time.

    A resample adds noise (of variance s) to scores of groups that have it already. So the resamples of the variance v of k
    groups vary by (2 s² + 4 s v) / (k − 1), and new data by 4 s² / (k − 1) less on average, since v has s in it too: a third
    is left where all groups are alike. It is taken off all values alike (one says little of its own error), and what is
    left is never below 2 s² / (k − 1), the error of groups that are alike (benchmarks/reliability_of_variances.py).

    >>> noise_once(np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.array([2.0, 2.0])).round(2).tolist()
    [1.36, 1.36]
    """
    degrees = groups - 1.0
    noise = np.sqrt(variances**2 + degrees * errors**2 / 2.0) - variances
    once, least = errors**2 - 4.0 * noise**2 / degrees, 2.0 * noise**2 / degrees
    return np.asarray(errors * sqrt(max(once.mean(), least.mean()) / np.mean(errors**2)), dtype=np.float64)


def disattenuated(covariance: Floats, noise: tuple[float, float], n: int) -> float:
    """Covariance over the roots of the variances without noise, each multiplied so that its median is right.

    The variance of n normal points has a median below its mean; dividing by its rest after the noise would give
    too much. Without noise it is Pearson's r.
    """
    from scipy.stats import chi2

    more = (n - 1) / chi2.ppf(0.5, n - 1)
    left = [more * float(covariance[at, at]) - noise[at] for at in (0, 1)]
    return float(more * covariance[0, 1] / sqrt(left[0] * left[1]))


def _interval(
    covariance: Floats, noise: tuple[float, float], n: int, confidence: float, random: np.random.Generator
) -> tuple[float, float]:
    """Covariances that could have given this one (Bartlett's decomposition turned round), each without its noise.

    Where a draw has no variance left, or a covariance that is too large for it, it counts as ±1.
    """
    degrees = n - 1
    a = sqrt(covariance[0, 0])  # the lower root of the covariance: a, 0 and b, c
    b = float(covariance[0, 1]) / a
    c = sqrt(max(float(covariance[1, 1]) - b * b, 0.0))
    first = np.sqrt(degrees / random.chisquare(degrees, DRAWS))
    last = np.sqrt(random.chisquare(degrees - 1, DRAWS) / degrees)
    root, off = a * first, first * (b - c * random.standard_normal(DRAWS) / (sqrt(degrees) * last))
    left = (root**2 - noise[0]) * (off**2 + (c / last) ** 2 - noise[1])
    there = (root**2 > noise[0]) & (left > 0)
    drawn = np.where(there, root * off / np.sqrt(np.where(there, left, 1.0)), np.sign(off))
    low, high = np.quantile(np.clip(drawn, -1.0, 1.0), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
