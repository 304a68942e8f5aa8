"""Confidence intervals: from bootstrap draws, of shares and of differences of shares, and of effect sizes.

The ends of an interval from draws are those draws at which the test of the same draws (`bootstrap_p`) turns significant, so
an interval at level 1 − α leaves out a value exactly when p < α.
"""

from __future__ import annotations

from math import ceil, nan, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ends = tuple[float, float]
Counts = tuple[int, int]
NONE: Ends = (nan, nan)
FEWEST = 5
"""Independent units below which there is no interval from draws, and no test of them."""


def percentile_interval(draws: Floats, confidence: float) -> Ends:
    """Give the smallest and the largest value that `bootstrap_p` does not reject at level 1 − confidence.

    >>> percentile_interval(np.arange(1.0, 1001.0), 0.95)
    (25.0, 976.0)
    """
    n = len(draws)
    at = max(0, ceil(round((1 - confidence) * (n + 1) / 2, 9)) - 2)
    ends = np.partition(draws, (at, n - 1 - at))
    return float(ends[at]), float(ends[n - 1 - at])


def bootstrap_p(draws: Floats, null: float = 0.0) -> float:
    """Compute the two-sided p of a value from its bootstrap draws: how often they fall on the other side of the null.

    >>> bootstrap_p(np.arange(1.0, 1001.0), 25.0) >= 0.05 > bootstrap_p(np.arange(1.0, 1001.0), 24.9)
    True
    """
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return nan
    below, above = (defined <= null).sum(), (defined >= null).sum()
    return float(min(1.0, 2 * (1 + min(below, above)) / (1 + len(defined))))


def exchange_interval(difference: float, others: Floats, confidence: float, *, is_exact: bool = False) -> Ends:
    """Interval of a difference of two models from the differences after exchanging them at random.

    It reaches as far as a difference may be that the test of the same exchanges (`permutation_p`) does not reject, so it
    leaves out 0 exactly when p < 1 − confidence. None where the test cannot reach this level: of all ways to exchange few
    units, the observed one and its mirror image are always as far.

    >>> exchange_interval(10.0, np.arange(-100.0, 101.0), 0.95)
    (-86.0, 106.0)
    """
    far = np.sort(np.abs(others[~np.isnan(others)]))[::-1]
    if not len(far):
        return NONE
    alpha = round(1 - confidence, 9)
    most = ceil(alpha * len(far)) - 1 if is_exact else ceil(alpha * (len(far) + 1)) - 2
    if not 0 <= most < len(far) or (is_exact and 2 / len(far) >= alpha):
        return NONE
    return difference - float(far[most]), difference + float(far[most])


def bounded_interval(value: float, draws: Floats, confidence: float, limits: Ends) -> Ends:
    """Interval for measures that cannot cross neutral (KLS ≥ 50, JSS ≤ 100), so that any noise moves them away from it.

    Resampling adds further noise, so plain percentiles miss the true value (and often the estimate itself). This interval
    is the hull of two corrections, the draws shifted by their bias and the basic (reflected) interval, kept inside the
    range. Plain percentiles never cover the true value when there is no lean at all (docs/intervals.md).
    """
    low, high = percentile_interval(draws, confidence)
    bias = float(np.mean(draws)) - value
    lower, upper = min(low - bias, 2 * value - high), max(high - bias, 2 * value - low)
    return max(lower, limits[0]), min(upper, limits[1])


def independent_texts(share: float, error: float, m: float) -> float:
    """Count the independent texts whose share would vary as much as this one, whose draws of m equal units have this error.

    >>> round(independent_texts(0.5, 0.05, 1e9), 3)
    100.0
    """
    return share * (1 - share) / (error**2 * m / (m - 1)) if error > 0 else m  # units all alike say nothing of others


def prevalence_interval(share: float, texts: float, judge: tuple[Counts, Counts], confidence: float, df: float) -> Ends:
    """Interval of a share corrected for the measured errors of the judge that counted it (Lang and Reiczigel, 2014).

    Args:
        share: The share of texts that the judge calls positive.
        texts: Number of independent texts.
        judge: Hits of positive texts, and false alarms of others: how many, of how many texts.
        confidence: Level of the interval.
        df: Degrees of freedom of Student's quantile.

    >>> low, high = prevalence_interval(0.3, 100.0, ((90, 100), (10, 100)), 0.95, 99)
    >>> round(low, 3), round(high, 3)
    (0.121, 0.381)
    """
    from scipy.special import stdtrit

    q = float(stdtrit(df, 0.5 + confidence / 2))
    seen = (texts * share + q * q / 2) / (texts + q * q)
    (hits, false), (of_hits, of_false) = zip(*(((k + 1) / (n + 2), n + 2) for k, n in judge), strict=True)
    if hits <= false:
        return NONE
    value = (seen - false) / (hits - false)
    of_judge = value * hits * (1 - hits) / of_hits, (1 - value) * false * (1 - false) / of_false
    spread = seen * (1 - seen) / (texts + q * q) + value * of_judge[0] + (1 - value) * of_judge[1]
    centre, reach = value + 2 * q * q * (of_judge[0] - of_judge[1]), q * sqrt(spread) / (hits - false)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def wilson_interval(share: float, texts: float, df: float, confidence: float) -> Ends:
    """Wilson's interval of a share, with Student's quantile.

    Args:
        share: The share, between 0 and 1.
        texts: Number of independent texts whose share would vary as much (`Units.texts`).
        df: Degrees of freedom of Student's quantile.
        confidence: Level of the interval.

    >>> low, high = wilson_interval(0.5, 100.0, 999, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    from scipy.special import stdtrit

    q = float(stdtrit(df, 0.5 + confidence / 2))
    centre = (share + q * q / (2 * texts)) / (1 + q * q / texts)
    reach = q * sqrt(share * (1 - share) / texts + q * q / (4 * texts**2)) / (1 + q * q / texts)
    return float(centre - reach), float(centre + reach)


def difference_interval(values: Ends, intervals: tuple[Ends, Ends], correlation: float = 0.0) -> Ends:
    """Interval of a difference from the intervals of its two parts (Newcombe, 1998; Zou and Donner, 2008).

    The reach of each side comes from the parts' own ends, so rates near 0 keep their lopsided intervals.

    >>> low, high = difference_interval((0.7, 0.4), ((0.6, 0.78), (0.31, 0.5)))
    >>> round(low, 3), round(high, 3)
    (0.159, 0.42)
    """
    (one, other), ((low, high), (other_low, other_high)) = values, intervals
    reach = []
    for own, theirs in ((one - low, other_high - other), (high - one, other - other_low)):
        reach.append(sqrt(max(0.0, own**2 + theirs**2 - 2 * correlation * own * theirs)))
    return one - other - reach[0], one - other + reach[1]


def effect_interval(value: float, draws: Floats, sizes: tuple[int, int], confidence: float) -> Ends:
    """Interval of an effect size d on Fisher's scale, as wide as the bootstrap is there (docs/intervals.md).

    d is a constant times the correlation of s with membership in X, so it is limited on both sides. Percentiles of draws
    crowd at these limits, and with the eight words of a usual set they cover the truth too rarely. The width is the
    middle 68 % of the draws, widened by Student's t for the spread lost in small sets.
    """
    from scipy.special import stdtrit

    n = sum(sizes)
    most = sqrt(n * (n - 1) / (sizes[0] * sizes[1]))
    defined = draws[np.isfinite(draws)]
    if len(defined) < 100 or abs(value) >= most * (1 - 1e-9):
        return NONE
    low, high = np.arctanh(np.clip(np.percentile(defined, [15.87, 84.13]) / most, -1 + 1e-9, 1 - 1e-9))
    reach = float(stdtrit(n - 2, 0.5 + confidence / 2)) * (high - low) / 2 * sqrt(n / (n - 2))
    if not reach:
        return NONE
    ends = most * np.tanh(np.arctanh(value / most) + np.array([-reach, reach]))
    return float(ends[0]), float(ends[1])
