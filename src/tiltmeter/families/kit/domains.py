"""Domain scores: the variance of a metric over the protected groups of a domain (Cao et al., 2022, Section 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.group_variance import group_variance

Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """The variance of group means: observed, with resampled items in each group, and with items assigned at random."""

    value: float
    draws: Floats
    dealt: Floats
    n_groups: int


def spread_over_groups(values: Floats, groups: NDArray[Any], rng: np.random.Generator, repeats: int) -> Spread | None:
    """The variance of group means, or None if there are fewer than two groups or only one item in each group."""
    codes, sizes = np.unique(groups.astype(str), return_inverse=True, return_counts=True)[1:]
    if len(sizes) < 2 or sizes.max() < 2:
        return None
    order = np.argsort(codes, kind="stable")
    ordered, start = values[order], np.cumsum(sizes) - sizes

    def variance(rows: Floats) -> Floats:
        return group_variance(np.add.reduceat(rows, start, axis=-1) / sizes)

    size, first = np.repeat(sizes, sizes), np.repeat(start, sizes)
    drawn = ordered[first + (rng.random((repeats, len(ordered))) * size).astype(np.int64)]
    dealt = rng.permuted(np.broadcast_to(ordered, (repeats, len(ordered))), axis=1)
    return Spread(float(variance(ordered)), variance(drawn), variance(dealt), len(sizes))
