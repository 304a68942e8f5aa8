"""Accuracy of token predictions: intervals over items, and McNemar's test on paired tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.design import Design
from tiltmeter.stats.intervals import percentile_interval
from tiltmeter.stats.significance import binomial_p, exact_proportion_interval

Floats = NDArray[np.float64]
KEY = ["item", "role", "position"]


@dataclass(frozen=True)
class Hits:
    """Correct predictions and all predictions, per item: items are independent, tokens of one sentence are not."""

    right: Floats
    total: Floats

    @classmethod
    def of(cls, tokens: Any, items: Any) -> Hits:
        """Counts per item from a table of tokens; an item without tokens counts as 0 of 0."""
        grouped = (tokens["rank"] == 1).groupby(tokens["item"])
        right, total = (counts.reindex(items, fill_value=0) for counts in (grouped.sum(), grouped.count()))
        return cls(right.to_numpy(dtype=np.float64), total.to_numpy(dtype=np.float64))

    @property
    def accuracy(self) -> float:
        """Percentage of correct predictions."""
        return float(100 * self.right.sum() / self.total.sum())

    def draws(self, index: NDArray[np.int64]) -> Floats:
        """The percentage on resampled items."""
        return np.asarray(100 * self.right[index].sum(axis=1) / self.total[index].sum(axis=1), dtype=np.float64)


def item_draws(n: int, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Items drawn with replacement."""
    return np.concatenate(list(Design.independent(n).indices(resamples, rng)))


def interval(draws: Floats, confidence: float) -> dict[str, float]:
    """The percentile interval as columns of a table."""
    low, high = percentile_interval(draws, confidence)
    return {"low": low, "high": high}


def accuracy_interval(hits: Hits, draws: Floats, confidence: float) -> dict[str, float]:
    """The interval from resampled items; if all are right or all are wrong, the exact one with one observation per item."""
    if np.ptp(draws) > 0:
        return interval(draws, confidence)
    n = int((hits.total > 0).sum())
    low, high = exact_proportion_interval(round(hits.accuracy / 100 * n), n, confidence)
    return {"low": low, "high": high}


def mcnemar(first: Any, second: Any) -> dict[str, Any] | None:
    """The 2 × 2 table over the tokens that both read, and the exact test of its disagreements; None if none is shared.

    With 5 tokens that only the first gets right and 1 that only the second does, p = 2·(C(6,0) + C(6,1))/2⁶ = 0.21875.
    """
    both = first[[*KEY, "rank"]].merge(second[[*KEY, "rank"]], on=KEY, suffixes=("_a", "_b"))
    if not len(both):
        return None
    return mcnemar_table((both["rank_a"] == 1).to_numpy(), (both["rank_b"] == 1).to_numpy())


def mcnemar_table(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> dict[str, Any]:
    """Paired counts of right and wrong predictions, with the exact p.

    >>> a, b = np.array([1] * 8 + [0] * 2, bool), np.array([1] * 3 + [0] * 5 + [1] + [0], bool)
    >>> {name: round(value, 5) for name, value in mcnemar_table(a, b).items()}
    {'n': 10, 'both': 3, 'only_a': 5, 'only_b': 1, 'neither': 1, 'p': 0.21875}
    """
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    counts = {"n": len(a), "both": int((a & b).sum()), "only_a": only_a, "only_b": only_b, "neither": int((~a & ~b).sum())}
    return counts | {"p": binomial_p(only_a, only_b)}
