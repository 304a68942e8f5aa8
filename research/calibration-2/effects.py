"""Slopes of readings on doses: the endpoint of each seed, the permuted largest T, bounds, and power.

Readings are arrays of metrics × doses × seeds. Every seed has its own level; slopes are least squares within seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POWER = 0.8


@dataclass(frozen=True)
class Slopes:
    """For each metric: slopes of the seeds, their mean with Student's interval, T within seeds and its standard error."""

    of_seeds: Floats
    value: Floats
    low: Floats
    high: Floats
    t: Floats
    error: Floats
    freedom: Floats


def seed_slopes(readings: Floats, doses: Floats) -> Floats:
    """The change of each metric for a dose of 1 in each seed (metrics × seeds). A seed that a metric lacks is NaN."""
    away = doses - doses.mean()
    return np.asarray(np.einsum("mds,d->ms", readings, away) / (away**2).sum())


def slopes(readings: Floats, doses: Floats, confidence: float = 0.95) -> Slopes:
    """The change of each metric for a dose of 1, over at least two seeds."""
    from scipy.stats import t

    away = doses - doses.mean()
    of_seeds = seed_slopes(readings, doses)
    n = np.isfinite(of_seeds).sum(1)
    value = np.nanmean(of_seeds, axis=1)
    half = t.ppf(0.5 + confidence / 2, n - 1) * np.nanstd(of_seeds, axis=1, ddof=1) / np.sqrt(n)
    products, total, freedom = _sums(readings, away[None])
    slope, error = _fitted(products[:, 0].sum(1), total, n * (away**2).sum(), freedom)
    return Slopes(of_seeds, value, value - half, value + half, _ratio(slope, error), error, freedom)


def _sums(readings: Floats, orders: Floats) -> tuple[Floats, Floats, Floats]:
    """Products with each order of the doses (metrics × orders × seeds), squares, and degrees of freedom within seeds."""
    centred = np.nan_to_num(readings - readings.mean(1, keepdims=True))
    seeds = np.isfinite(readings).all(1).sum(1)
    products = np.einsum("mds,od->mos", centred, orders)
    return products, (centred**2).sum((1, 2)), (readings.shape[1] - 1.0) * seeds - 1


def _fitted(products: Floats, total: Floats, weight: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """The common slope, and its standard error from the residuals within seeds."""
    slope = products / weight
    return slope, np.sqrt(np.maximum(total - slope**2 * weight, 0.0) / freedom / weight)


def _ratio(slope: Floats, error: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(slope / error, nan=0.0))


def largest_t(readings: Floats, doses: Floats) -> Floats:
    """The largest |T| over the metrics for every permutation of the doses within seeds."""
    away = doses - doses.mean()
    orders = np.array(list(permutations(away)))
    products, total, freedom = _sums(readings, orders)
    weight = np.isfinite(readings).all(1).sum(1) * (away**2).sum()
    every = np.array(list(product(range(len(orders)), repeat=readings.shape[2])))
    sums = sum(products[:, every[:, seed], seed] for seed in range(readings.shape[2]))
    slope, error = _fitted(sums, total[:, None], weight[:, None], freedom[:, None])
    return np.asarray(np.abs(_ratio(slope, error)).max(0))


def adjusted_p(statistic: Floats, largest: Floats) -> Floats:
    """The share of permutations whose largest |T| is at least that of each metric."""
    return np.array([(largest >= abs(one) * (1 - 1e-9)).mean() for one in statistic])


def detectable(error: Floats, largest: Floats, freedom: Floats, level: float = 0.05) -> Floats:
    """The slope that the corrected test would have detected with 80 % power: T is noncentral Student."""
    from scipy.optimize import brentq
    from scipy.stats import nct

    limit = float(np.quantile(largest, 1 - level))
    needed = {df: brentq(lambda at, df=df: nct.sf(limit, df, at) - POWER, 0.0, limit + 20.0) for df in set(freedom.tolist())}
    return np.array([needed[df] for df in freedom.tolist()]) * error


def verdict(value: float, p: float, high: float, bound: float, *, is_taught: bool, has_sign: bool = True) -> str:
    """Decide by the plan. `bound`: a tenth of the slope of the taught pairs.

    >>> verdict(0.5, 0.01, 0.9, 0.3, is_taught=True), verdict(0.1, 0.4, 0.2, 0.3, is_taught=True)
    ('detects', 'bounded')
    >>> verdict(0.1, 0.4, 0.9, 0.3, is_taught=True), verdict(0.1, 0.4, 0.2, 0.3, is_taught=False)
    ('undecided', 'not taught')
    """
    if p < 0.05 and (value > 0 or not has_sign):
        return "detects"
    if not is_taught:
        return "not taught"
    return "bounded" if high < bound else "undecided"
