"""The power of the exact binomial test against one half: the smallest lean it detects, and the pairs it needs."""

from __future__ import annotations

MOST_PAIRS = 1_000_000


def power_of(n: int, lean: float, alpha: float) -> float:
    """Chance that n pairs, each stereotypical with this probability, give p ≤ alpha.

    >>> round(power_of(10, 0.9, 0.05), 4), power_of(5, 1.0, 0.05)
    (0.7361, 0.0)
    """
    from scipy.stats import binom

    # The test rejects from k wins on, where 2·P(X ≥ k) ≤ alpha under one half, and as far on the other side.
    k = int(binom.isf(alpha / 2, n, 0.5)) + 1
    if k > n:
        return 0.0
    return float(binom.sf(k - 1, n, lean) + binom.cdf(n - k, n, lean))


def smallest_lean(n: int, alpha: float, power: float) -> float | None:
    """The smallest share above one half that n pairs detect with this power; None if not even a share of 1 is detected.

    >>> round(smallest_lean(1508, 0.05, 0.8), 3), smallest_lean(5, 0.05, 0.8)
    (0.536, None)
    """
    if power_of(n, 1.0, alpha) < power:
        return None
    low, high = 0.5, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(n, middle, alpha) >= power else (middle, high)
    return high


def pairs_needed(lean: float, alpha: float, power: float) -> int:
    """About how many pairs detect this share with this power; MOST_PAIRS means that many or more.

    About, because the power of an exact test varies a little from one n to the next (here from 786 to 820).

    >>> pairs_needed(0.55, 0.05, 0.8), pairs_needed(0.5, 0.05, 0.8)
    (807, 1000000)
    """
    lean = max(lean, 1 - lean)
    low, high = 1, 8
    while high < MOST_PAIRS and power_of(high, lean, alpha) < power:
        low, high = high, 2 * high
    if high >= MOST_PAIRS:
        return MOST_PAIRS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle, lean, alpha) >= power else (middle, high)
    return high
