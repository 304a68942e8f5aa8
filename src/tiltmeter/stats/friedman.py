"""Friedman's test: do blocks rank several groups alike? With answers yes or no it is Cochran's Q."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ranks_within(blocks: Floats) -> Floats:
    """Rank the groups (columns) within each block (row); the smallest is 1, ties share their mean rank.

    >>> ranks_within(np.array([[3.0, 1.0, 3.0]]))
    array([[2.5, 1. , 2.5]])
    """
    below = (blocks[:, None, :] < blocks[:, :, None]).sum(axis=2)
    equal = (blocks[:, None, :] == blocks[:, :, None]).sum(axis=2)
    return np.asarray(below + (equal + 1) / 2, dtype=np.float64)


def friedman_p(blocks: Floats) -> float:
    """Test that no group ranks higher than another, over complete blocks; ties are corrected for.

    First places only (one 1 in each row, else 0) give Pearson's chi-squared test of equal counts. Here: 14, 6 and 10.

    >>> firsts = np.repeat(np.eye(3), [14, 6, 10], axis=0)
    >>> round(friedman_p(firsts), 4)
    0.2019
    """
    from scipy.special import chdtrc

    n, k = blocks.shape
    if n < 2 or k < 2:
        return float("nan")
    ranks = ranks_within(blocks)
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if spread == 0:
        return 1.0
    between = float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    return float(chdtrc(k - 1, n * between / spread))
