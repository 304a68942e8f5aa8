"""Confidence sequences: intervals for a mean that hold at every sample size at once, so that one may look at any time.

A bet against "the mean is at most m" multiplies its wealth by 1 + λ(x − m) for each value x in [0, 1]. If the mean is at
most m, wealth does not grow on average, and by Ville's inequality it ever reaches 1/α with probability at most α, whenever
one looks and whenever one stops. The lower bound at level α is the largest m that some look has refuted, and the upper
bound follows from bets on the other side (Waudby-Smith and Ramdas, 2024, Journal of the Royal Statistical Society B 86).
Wealth is spread over the fixed bets `BETS`: the average of such processes is one too, and none has to be tuned to the
unknown variance.

Values of one cluster are no independent evidence, so a cluster is one bet: 1 + λ(Σx − n·m)/L with L the largest cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
BETS = np.array([0.1, 0.15, 0.2, 0.3, 0.5, 1.0])
"""Fractions of the wealth. For a share near one half a bet of λ is the best one where the mean lies 25 λ percentage points
from m: these suit benchmarks of some hundred to some thousand items. A bet of at most 1 never loses more than there is."""
HALVINGS = 40


def log_wealth(totals: ArrayLike, sizes: ArrayLike, mean: float, largest: float = 1.0, *, above: bool = True) -> Floats:
    """Return the logarithm of the wealth of bets against a mean after each cluster of the last axis.

    Args:
        totals: Sum of the values of each cluster, in the order in which clusters were drawn; each value in [0, 1].
        sizes: Number of values of each cluster.
        mean: The mean that is bet against.
        largest: Number of values of the largest possible cluster.
        above: Bet that the mean lies above, else below.
    """
    gain = (np.asarray(totals, dtype=np.float64) - mean * np.asarray(sizes, dtype=np.float64)) / largest
    signed = gain if above else -gain
    total = np.full(signed.shape, -np.inf)
    with np.errstate(divide="ignore"):
        for bet in BETS:
            total = np.logaddexp(total, np.cumsum(np.log1p(bet * signed), axis=-1))
    return np.asarray(total - np.log(len(BETS)), dtype=np.float64)


def confidence_sequence(
    totals: ArrayLike, sizes: ArrayLike, looks: Sequence[int], alpha: float, largest: float = 1.0
) -> list[tuple[float, float]]:
    """Return lower and upper bounds of a mean at each look; each side errs at any look with probability at most alpha.

    Args:
        totals: Sum of the values of each cluster, in order.
        sizes: Number of values of each cluster.
        looks: Numbers of clusters after which bounds are wanted, ascending.
        alpha: Chance of each side to be wrong at any look.
        largest: Number of values of the largest possible cluster.

    >>> heads = np.tile([1.0, 1.0, 1.0, 0.0], 100)
    >>> [(round(low, 3), round(high, 3)) for low, high in confidence_sequence(heads, np.ones(400), [40, 400], 0.025)]
    [(0.502, 0.954), (0.679, 0.812)]
    """
    total, size = np.asarray(totals, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    bounds: list[tuple[float, float]] = []
    low, high = 0.0, 1.0
    for look in looks:
        pairs, counts = np.unique(np.stack([total[:look], size[:look]]), axis=1, return_counts=True)
        low = max(low, _bound(pairs, counts, alpha, largest, above=True))
        high = min(high, _bound(pairs, counts, alpha, largest, above=False))
        bounds.append((low, high))
    return bounds


def _bound(pairs: Floats, counts: NDArray[np.int64], alpha: float, largest: float, *, above: bool) -> float:
    """Return the mean at which wealth is 1/alpha, by bisection: wealth falls as the mean nears the values."""
    inside, outside = (1.0, 0.0) if above else (0.0, 1.0)
    if _wealth(pairs, counts, outside, largest, above) < -np.log(alpha):
        return outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if _wealth(pairs, counts, middle, largest, above) >= -np.log(alpha):
            outside = middle
        else:
            inside = middle
    return outside


def _wealth(pairs: Floats, counts: NDArray[np.int64], mean: float, largest: float, above: bool) -> float:
    gain = (pairs[0] - mean * pairs[1]) / largest * (1.0 if above else -1.0)
    with np.errstate(divide="ignore"):
        logs = np.log1p(BETS[:, None] * gain) @ counts
    return float(np.logaddexp.reduce(logs) - np.log(len(BETS)))
