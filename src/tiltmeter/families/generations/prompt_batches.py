"""Batches of prompts that are continued together.

A batch begins with as many tokens as its shortest prompt has, and a longer prompt is fed one token a step. So prompts of
like length belong together; but a step takes as long for a few rows as for some, so that too many batches cost more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def batch_sizes(lengths: NDArray[np.int64], room: int, budget: int, floor: int, *, mixed: bool = True) -> list[int]:
    """Sizes of the batches with the least steps × rows, where fewer rows than `floor` cost as much. Shortest come first.

    `room`: what is added to each prompt. `budget`: the most tokens in a batch. `mixed`: whether lengths may differ in one.
    Exact, by dynamic programming over the distinct lengths.

    >>> batch_sizes(np.array([5, 5, 6, 40]), 10, 1000, 1), batch_sizes(np.array([5, 5, 6, 40]), 10, 1000, 100)
    ([2, 1, 1], [3, 1])
    """
    widths, counts = np.unique(lengths, return_counts=True)
    upto = np.concatenate([[0], np.cumsum(counts)])
    best, begin, parts = [0.0], [0], [1]
    for last in range(len(widths)):
        tried = []
        for first in range(last, -1 if mixed else last - 1, -1):
            rows = int(upto[last + 1] - upto[first])
            needed = math.ceil(rows / max(1, budget // int(widths[last] + room)))
            if needed > 1 and first < last:
                break
            steps = int(widths[last] - widths[first]) + room
            tried.append((best[first] + needed * steps * max(floor, rows / needed), first, needed))
        cost, first, needed = min(tried)
        best.append(cost)
        begin.append(first)
        parts.append(needed)
    sizes: list[int] = []
    last = len(widths)
    while last:
        rows, n = int(upto[last] - upto[begin[last]]), parts[last]
        sizes += [rows // n + (part < rows % n) for part in range(n)]
        last = begin[last]
    return sizes[::-1]
