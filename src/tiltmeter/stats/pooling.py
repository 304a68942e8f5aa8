"""Partial pooling: estimates of small groups that borrow strength from the other groups of the same column.

Shares are pooled on the logit scale by a normal hierarchical model: the logit of group g varies around θ_g by sampling, and
θ_g around a common μ with standard deviation τ. μ has a flat prior and is integrated exactly. τ has a uniform prior (Gelman,
2006, Bayesian Analysis 1) and is integrated over a grid, so that intervals account for not knowing it; plugging in one
estimate of τ gives intervals that are too short when few groups look alike. Where groups are alike, τ is small and every
group borrows much; where they differ, τ is large and estimates stay close to the raw ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiltmeter import catalog
from tiltmeter.stats.estimates import Estimate, details_of, details_text

Floats = NDArray[np.float64]
SPREADS = np.concatenate([np.linspace(0.0, 1.0, 31), np.linspace(1.1, 4.0, 30)])
"""Values of τ on the logit scale; near a share of one half, 0.04 is about 1 percentage point."""
FEWEST_GROUPS = 3
"""Two groups say almost nothing about the spread between groups."""
HALVINGS = 34
CLUSTER_COUNTS = ("n_clusters", "n_templates")
"""Details of an estimate that say how many clusters its items form."""
POOLED = ("pooled", "pooled_low", "pooled_high")
"""Details with the pooled value and its interval."""
REACH = 12.0
"""Logits beyond which no share is distinguishable from 0 or 1."""


@dataclass(frozen=True)
class PooledShares:
    """Pooled shares with credible intervals, and the posterior median of τ on the logit scale."""

    value: Floats
    low: Floats
    high: Floats
    spread: Floats


def pool_shares(wins: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> PooledShares:
    """Pool shares over the groups of the last axis.

    Args:
        wins: Number of items of each group that count, such as pairs that prefer the stereotype.
        n: Number of items of each group; effective numbers where items are clustered.
        confidence: Level of the intervals.

    Raises:
        ValueError: There are fewer than three groups, or a group without items.

    >>> pooled = pool_shares([30, 32, 45], [60, 60, 60])
    >>> pooled.value.round(3).tolist(), bool(pooled.value[2] < 45 / 60)
    ([0.515, 0.543, 0.723], True)
    """
    k, size = np.broadcast_arrays(np.asarray(wins, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if k.shape[-1] < FEWEST_GROUPS or not (size > 0).all():
        raise ValueError(f"pooling needs at least {FEWEST_GROUPS} groups with items")
    logit, variance = empirical_logits(k, size)
    weight, mean, error = _given_spread(logit, variance)
    tail = (1 - confidence) / 2
    value, low, high = _sigmoid(_quantiles(weight, mean, error, (0.5, tail, 1 - tail)))
    behind = np.cumsum(weight, axis=0) >= 0.5
    return PooledShares(value, low, high, SPREADS[np.argmax(behind, axis=0)])


def empirical_logits(wins: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the logits of shares and their sampling variances, defined also where no item or every item counts."""
    yes, no = wins + 0.5, n - wins + 0.5
    return np.asarray(np.log(yes / no)), np.asarray(1 / yes + 1 / no)


def _given_spread(logit: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Posterior weights of every τ (τ × …), and mean and standard deviation of each θ given τ (τ × … × groups)."""
    spread = SPREADS.reshape(-1, *([1] * logit.ndim)) ** 2
    precision = 1 / (variance + spread)
    of_mean = 1 / precision.sum(axis=-1)
    centre = of_mean * (precision * logit).sum(axis=-1)
    residual = (precision * (logit - centre[..., None]) ** 2).sum(axis=-1)
    log_weight = 0.5 * (np.log(of_mean) + np.log(precision).sum(axis=-1) - residual)
    weight = np.exp(log_weight - log_weight.max(axis=0)) * np.gradient(SPREADS).reshape(-1, *([1] * centre[0].ndim))
    shrink = variance * precision
    mean = shrink * centre[..., None] + (1 - shrink) * logit
    error = np.sqrt((1 - shrink) * variance + shrink**2 * of_mean[..., None])
    return weight / weight.sum(axis=0), mean, error


def _quantiles(weight: Floats, mean: Floats, error: Floats, at: Sequence[float]) -> Floats:
    """Quantiles (the first axis) of a mixture of normal distributions over the first axis, by bisection."""
    from scipy.special import ndtr

    wanted = np.reshape(at, (-1, *([1] * (mean.ndim - 1))))
    low = np.full((len(at), *mean.shape[1:]), -REACH)
    high = -low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = (weight[..., None] * ndtr((middle[:, None] - mean) / error)).sum(axis=1) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)


def _sigmoid(logit: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float64)


def units_of(row: Mapping[str, Any]) -> int:
    """Return the number of independent units of an estimate: clusters where it has them, else items."""
    details = details_of(row)
    clusters = [int(details[name]) for name in CLUSTER_COUNTS if name in details]
    return min([int(row["n"]), *clusters])


def pool_rows(rows: Sequence[Mapping[str, Any]], whole: float, confidence: float) -> list[tuple[float, float, float]]:
    """Pool the rows of `estimates.csv` that are the groups of one column: value, low and high of each.

    Args:
        rows: Group estimates with `value`, `low`, `high`, `n` and `details`.
        whole: The value at which every item counts, such as 100.
        confidence: Level of the intervals in `rows`, and of the pooled ones.
    """
    share = np.array([float(row["value"]) / whole for row in rows])
    n = np.array([_effective_n(row, at, whole, confidence) for row, at in zip(rows, share, strict=True)])
    pooled = pool_shares(share * n, n, confidence)
    ends = (whole * pooled.value, whole * pooled.low, whole * pooled.high)
    return [(float(value), float(low), float(high)) for value, low, high in zip(*ends, strict=True)]


def _effective_n(row: Mapping[str, Any], share: float, whole: float, confidence: float) -> float:
    """Number of independent items that would give as wide an interval; the number of items where none are clustered."""
    n = float(row["n"])
    width = (float(row["high"]) - float(row["low"])) / whole
    if units_of(row) >= n or not 0 < share < 1 or not width > 0:
        return float(units_of(row))
    error = width / (2 * NormalDist().inv_cdf(0.5 + confidence / 2))
    return min(n, share * (1 - share) / error**2)


def is_poolable(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rows are at least three groups, each with a value and an interval."""
    known = all(np.isfinite([row["value"], row["low"], row["high"]]).all() and int(row["n"]) > 0 for row in rows)
    return len(rows) >= FEWEST_GROUPS and known


def with_pooled(rows: Sequence[Estimate], confidence: float) -> list[Estimate]:
    """Return estimates with `pooled`, `pooled_low` and `pooled_high` in the details of groups whose measure is a share.

    Groups are pooled with the other groups of the same column, model, benchmark, scorer and measure. Contrasts of two
    groups have another neutral point and are left as they are.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for at, row in enumerate(rows):
        spec = catalog.find("measures", row.measure).spec
        is_plain = spec.neutral is None or row.neutral == spec.neutral
        if row.by != "all" and spec.proportion is not None and is_plain and np.isfinite(row.low):
            places.setdefault((row.model, row.benchmark, row.scorer, row.measure, row.by), []).append(at)
    found = list(rows)
    for (*_, measure, _), members in places.items():
        records = [vars(rows[at]) | {"details": details_text(rows[at].details)} for at in members]
        if is_poolable(records):
            whole = float(catalog.find("measures", measure).spec.proportion or 1.0)
            for at, ends in zip(members, pool_rows(records, whole, confidence), strict=True):
                details = dict(zip(POOLED, ends, strict=True))
                found[at] = replace(rows[at], details={**rows[at].details, **details})
    return found
