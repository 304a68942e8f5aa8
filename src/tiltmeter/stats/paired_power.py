"""Power of the exact McNemar test of a share that two models have on the same items."""

from __future__ import annotations

import math

import numpy as np

HALVINGS = 20


def change_power(change: float, background: float, n: int, level: float) -> float:
    """Return the chance that a true change of a share is significant.

    Args:
        change: The change, between 0 and 1.
        background: The share of items that change either way besides.
        n: Items.
        level: Significance level.

    >>> round(change_power(0.094, 0.0, 83, 0.05), 2), round(change_power(0.094, 0.05, 83, 0.05), 2)
    (0.8, 0.41)
    """
    from scipy.stats import binom

    changed = np.arange(1, n + 1)
    chance = binom.pmf(changed, n, 2 * background + change)
    changed, chance = changed[chance > 1e-9], chance[chance > 1e-9]
    least = binom.isf(level / 2, changed, 0.5) + 1
    return float((chance * binom.sf(least - 1, changed, (background + change) / (2 * background + change))).sum())


def smallest_change(background: float, n: int, level: float, power: float) -> float:
    """Return the smallest true change that is detected with this power; infinite if none is.

    >>> round(smallest_change(0.0, 83, 0.05, 0.8), 3), smallest_change(0.0, 5, 0.05, 0.8)
    (0.094, inf)
    """
    low, high = 0.0, 1 - 2 * background
    if change_power(high, background, n, level) < power:
        return math.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if change_power(middle, background, n, level) >= power else (middle, high)
    return high
