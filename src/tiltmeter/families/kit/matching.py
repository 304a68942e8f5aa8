"""Answers of two models to the same items: cells of the same benchmark and scorer, and the items that both have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Items = Sequence[Any] | NDArray[np.object_]


Cell = TypeVar("Cell", bound=Any)
"""Something about one `model` and one `benchmark`."""


def of_two_models(
    cells: Iterable[Cell], first: str, second: str, key: Callable[[Cell], Any] = lambda cell: cell.benchmark
) -> Iterator[tuple[Cell, Cell]]:
    """Go through the cells of the first model that have one of the second with the same key, and that one."""
    all_cells = list(cells)
    reference = {key(cell): cell for cell in all_cells if cell.model == second}
    for ours in all_cells:
        if ours.model == first and key(ours) in reference:
            yield ours, reference[key(ours)]


def common_places(ours: Items, theirs: Items, usable: tuple[Any, Any] | None = None) -> tuple[Ints, Ints]:
    """Find the items that both have: their places in either list, in the order of the first.

    `usable`: which items of either list count. Default: all.

    >>> [places.tolist() for places in common_places(["a", "b", "c"], ["c", "a"])]
    [[0, 2], [1, 0]]
    """
    of_ours, of_theirs = usable or ([True] * len(ours), [True] * len(theirs))
    place = {item: n for n, item in enumerate(theirs) if of_theirs[n]}
    here = np.array([n for n, item in enumerate(ours) if of_ours[n] and item in place], dtype=np.int64)
    return here, np.array([place[ours[n]] for n in here], dtype=np.int64)
