"""Rows of a plan: one for each query, or prefix trees, in which queries that begin alike share their first tokens.

Sorted queries that begin alike are neighbours, and fill a row until it is full. The numbers are those of single sequences;
only rounding differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models import RowLength
from tiltmeter.probes.views import Query

Ints = NDArray[np.int64]
QUERIES_IN_ROW = 3
"""A row has room for so many of the longest query: shorter rows repeat more, longer ones attend to more in vain."""


class Rows(NamedTuple):
    """Tokens of all rows, where each ends, and for each query its row and its columns in that row (one after the other).

    `ends`: for each token, the column behind its last descendant; in a row of one query, its length.
    """

    ids: Ints
    ends: Ints
    lengths: Ints
    row: Ints
    columns: Ints


def single_rows(queries: Sequence[Query]) -> Rows:
    """Lay every query out in a row of its own."""
    lengths = sizes(query.ids for query in queries)
    columns = flat(query.columns for query in queries)
    return Rows(flat(query.ids for query in queries), np.repeat(lengths, lengths), lengths, np.arange(len(queries)), columns)


def shared_rows(queries: Sequence[Query], length: RowLength | None) -> Rows:
    """Lay queries out in prefix trees; in rows of their own if one is too long for the model to share any."""
    longest = max((len(query.ids) for query in queries), default=0)
    if length is None or longest > length.most:
        return single_rows(queries)
    order = sorted(range(len(queries)), key=lambda number: queries[number].ids)
    firsts = _even_cut(
        [queries[number].ids for number in order], min(length.most, max(length.usual, QUERIES_IN_ROW * longest))
    )
    rows: list[_Row] = []
    row_of = np.empty(len(queries), dtype=np.int64)
    columns: list[tuple[int, ...]] = [()] * len(queries)
    for first, last in pairwise([*firsts, len(order)]):
        row = _Row()
        for number in order[first:last]:
            path = row.add(queries[number].ids)
            row_of[number], columns[number] = len(rows), tuple(path[column] for column in queries[number].columns)
        row.close(0)
        rows.append(row)
    lengths = sizes(row.ids for row in rows)
    return Rows(flat(row.ids for row in rows), flat(row.ends for row in rows), lengths, row_of, flat(columns))


class _Row:
    """A row that grows by one query after the other, in sorted order. `path`: the columns of the latest query."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.ends: list[int] = []
        self.path: list[int] = []
        self.latest: tuple[int, ...] = ()

    def add(self, ids: tuple[int, ...]) -> list[int]:
        shared = common_prefix(self.latest, ids)
        self.close(shared)
        first = len(self.ids)
        self.ids += ids[shared:]
        self.ends += [0] * (len(ids) - shared)
        self.path = self.path[:shared] + list(range(first, len(self.ids)))
        self.latest = ids
        return self.path

    def close(self, shared: int) -> None:
        """Nothing more descends from the latest query's tokens behind the shared ones."""
        for column in self.path[shared:]:
            self.ends[column] = len(self.ids)


def _even_cut(texts: Sequence[tuple[int, ...]], width: int) -> list[int]:
    """Cut sorted texts into as few rows as the width allows, none longer than need be: what is padded is computed, too."""
    whole = [len(ids) for ids in texts]
    fresh = [len(ids) - common_prefix(before, ids) for before, ids in pairwise([(), *texts])]
    firsts = _cut(whole, fresh, width)
    low, high = max([0, *whole]), width
    while low < high:
        middle = (low + high) // 2
        narrower = _cut(whole, fresh, middle)
        if len(narrower) > len(firsts):
            low = middle + 1
        else:
            high, firsts = middle, narrower
    return firsts


def _cut(whole: Sequence[int], fresh: Sequence[int], width: int) -> list[int]:
    """First texts of rows of at most `width` tokens, of which a text behind another one takes its fresh ones alone."""
    firsts, filled = [0], 0
    for at, (alone, behind) in enumerate(zip(whole, fresh, strict=True)):
        filled += behind
        if filled > width:
            firsts.append(at)
            filled = alone
    return firsts


def common_prefix(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Number of tokens that both begin with, by bisection: comparing slices is faster than comparing tokens.

    >>> common_prefix((1, 2, 3, 4), (1, 2, 5)), common_prefix((1, 2), (1, 2, 3)), common_prefix((), (1,))
    (2, 2, 0)
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def flat(parts: Iterable[Sequence[int]]) -> Ints:
    """All numbers one after the other."""
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)


def sizes(parts: Iterable[Sequence[int]]) -> Ints:
    """Length of each part."""
    return np.fromiter(map(len, parts), dtype=np.int64)
