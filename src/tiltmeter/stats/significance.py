"""Exact tests, tests of equivalence, and the correction for several tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb, exp, lgamma, log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.design import Design

EXACT_SPLITS = 100_000
SHUFFLES = 99_999


def binomial_p(wins: int, losses: int) -> float:
    """Two-sided exact binomial p against one half. Ties are excluded; 1 if nothing is left.

    Twice the smaller tail: the largest term of it, times a sum of falling ratios. (scipy.stats takes a second to import.)

    >>> round(binomial_p(9, 1), 12)
    0.021484375
    """
    n, fewer = wins + losses, min(wins, losses)
    if 2 * fewer == n:
        return 1.0
    behind = np.arange(fewer)
    tail = 1 + float(np.cumprod((fewer - behind) / (n - fewer + 1 + behind)).sum())
    largest = lgamma(n + 1) - lgamma(fewer + 1) - lgamma(n - fewer + 1) - n * log(2)
    return min(1.0, 2 * tail * exp(largest))


def exact_proportion_interval(wins: int, n: int, confidence: float) -> tuple[float, float]:
    """Clopper–Pearson interval of a percentage, for when all pairs agree and bootstrap draws do not vary.

    >>> [round(edge, 6) for edge in exact_proportion_interval(10, 10, 0.95)]
    [69.150289, 100.0]
    """
    outside = (1 - confidence) / 2
    if wins in (0, n):
        edge = 100 * outside ** (1 / n)
        return (edge, 100.0) if wins else (0.0, 100 - edge)
    from scipy.special import betaincinv

    return 100 * float(betaincinv(wins, n - wins + 1, outside)), 100 * float(betaincinv(wins + 1, n - wins, 1 - outside))


def fisher_p(wins_a: int, losses_a: int, wins_b: int, losses_b: int) -> float:
    """Fisher's exact test that two groups of pairs lean alike: all tables with these margins that are no likelier.

    >>> round(fisher_p(8, 2, 1, 5), 6)
    0.034965
    """
    of_a, wins, total = wins_a + losses_a, wins_a + wins_b, wins_a + losses_a + wins_b + losses_b
    fewest, most = max(0, of_a + wins - total), min(of_a, wins)
    here = np.arange(fewest, most)
    steps = np.log((of_a - here) * (wins - here)) - np.log((here + 1.0) * (total - of_a - wins + here + 1))
    weights = np.concatenate([[0.0], np.cumsum(steps)])  # logarithms, up to a constant
    weights = np.exp(weights - weights.max())
    # Tables that are as likely must count although their weights were found by other steps.
    far = weights <= weights[wins_a - fewest] * (1 + 1e-7)
    return float(min(1.0, weights[far].sum() / weights.sum()))


def permutation_p(observed: float, draws: NDArray[np.float64], centre: float, *, is_exact: bool = False) -> float:
    """Share of draws at least as far from the centre as what was observed.

    The observation itself counts as one more draw, unless the draws are all that are possible (`is_exact`).
    """
    defined = draws[~np.isnan(draws)]
    if np.isnan(observed) or not len(defined):
        return float("nan")
    # A draw that repeats the observation must count although its sum was taken in another order.
    far = np.abs(defined - centre) >= abs(observed - centre) - 1e-9
    return float(far.mean()) if is_exact else float((1 + far.sum()) / (1 + len(defined)))


def split_p(x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, bool]:
    """One-sided p that x lies above y, over all splits of x ∪ y into parts of these sizes, and whether all were tried.

    Up to 100,000 splits all of them (the observed one counts), else 99,999 shuffles and the observed one. The
    difference of means grows with the sum over x, so the sums decide, also for unequal sizes.

    >>> split_p(np.array([3.0, 4.0]), np.array([1.0, 2.0]), np.random.default_rng(0))
    (0.16666666666666666, True)
    """
    both = np.concatenate([x, y])
    if not np.isfinite(both).all():
        return float("nan"), False
    # Tied splits must tie although their sums were taken in another order.
    least = x.sum() - 1e-12 * max(1.0, float(np.abs(both).sum()))
    n_splits = comb(len(both), len(x))
    if n_splits <= EXACT_SPLITS:
        members = np.fromiter(chain.from_iterable(combinations(range(len(both)), len(x))), np.intp).reshape(n_splits, -1)
        return float(np.mean(both[members].sum(axis=1) >= least)), True
    orders = Design.independent(len(both)).permute(SHUFFLES, rng)[0]
    hits = sum(int((both[order[:, : len(x)]].sum(axis=1) >= least).sum()) for order in orders)
    return (1 + hits) / (1 + SHUFFLES), False


def sign_flip_p(values: NDArray[np.float64], rng: np.random.Generator, flips: int = 9_999) -> float:
    """Two-sided p that values are centred on 0: their mean against means with exchanged signs; exact up to 12 values.

    >>> sign_flip_p(np.arange(1.0, 9.0), np.random.default_rng(0))
    0.0078125
    """
    if not len(values) or not np.isfinite(values).all():
        return float("nan")
    ways, is_exact = Design.independent(len(values)).flip(flips, rng)
    means = np.concatenate([np.mean(np.where(flip, -values, values), axis=1) for flip in ways])
    return permutation_p(float(values.mean()), means, 0.0, is_exact=is_exact)


def equivalence_p(value: float, error: float, margin: float, n: int | None = None) -> float:
    """p of two one-sided tests (Schuirmann, 1987) that a value lies within ±margin of 0.

    Args:
        value: The estimate, such as a paired difference.
        error: Its standard error.
        margin: The largest value that does not matter.
        n: Number of independent units, for Student's distribution; None for the normal one.

    >>> round(equivalence_p(0.0, 1.0, 1.96), 3), equivalence_p(3.0, 1.0, 2.0) > 0.5
    (0.025, True)
    """
    from scipy.special import ndtr, stdtr

    if np.isnan(value) or np.isnan(error):
        return float("nan")
    if error == 0:
        return float(abs(value) >= margin)
    nearest = (margin - abs(value)) / error
    return float(ndtr(-nearest) if n is None else stdtr(n - 1, -nearest))


def holm(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Holm's step-down correction; missing values stay missing and are not counted.

    Args:
        p_values: The p of each test.
        weights: The share of the error rate that each test starts with (Holm, 1979, section 4). Default: equal.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    >>> [round(p, 3) for p in holm([0.02, 0.02, 0.5], weights=[4.0, 1.0, 1.0])]
    [0.03, 0.04, 0.5]
    """
    weight = [1.0] * len(p_values) if weights is None else list(weights)
    corrected = [float("nan")] * len(p_values)
    known = sorted((p / weight[at], at) for at, p in enumerate(p_values) if not np.isnan(p))
    highest = 0.0
    for rank, (ratio, at) in enumerate(known):
        highest = max(highest, min(1.0, ratio * sum(weight[left] for _, left in known[rank:])))
        corrected[at] = highest
    return corrected


def smallest_difference(standard_error: float, confidence: float = 0.95, power: float = 0.8) -> float:
    """The smallest difference that a two-sided test detects with this power, given the standard error of the difference.

    >>> round(smallest_difference(1.0), 3)
    2.802
    """
    quantile = NormalDist().inv_cdf
    return (quantile(0.5 + confidence / 2) + quantile(power)) * standard_error
