"""Two sets of values compared by their ranks, along the last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def share_above(values: Floats, is_first: NDArray[np.bool_]) -> Floats:
    """Mann and Whitney's U / (n₁ n₂): the share of comparisons in which a value of the first set is the larger one.

    Equal values count one half. NaN where a set is empty or a value is missing (a sorted list with NaN gives any number).

    >>> float(share_above(np.array([8.0, 2.0, 8.0]), np.array([True, False, False])))
    0.75
    """
    from scipy.stats import rankdata

    n, others = int(is_first.sum()), int((~is_first).sum())
    if not n or not others:
        return np.full(np.shape(values)[:-1], np.nan)
    u = rankdata(values, axis=-1)[..., is_first].sum(axis=-1) - n * (n + 1) / 2
    return np.asarray(np.where(np.isnan(values).any(axis=-1), np.nan, u / (n * others)), dtype=np.float64)
