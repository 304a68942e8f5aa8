"""Planning a block: queries of all views pooled, duplicates dropped, sorted by length, packed into batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models import Batch
from tiltmeter.probes.views import Query

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Reads:
    """All reads of a plan, one array each, sorted by sequence (longest first) and column."""

    view: Ints
    sentence: Ints
    position: Ints
    token: Ints
    sequence: Ints
    column: Ints
    block_read: Ints
    block_token: Ints


@dataclass(frozen=True)
class Plan:
    """Unique sequences, longest first, and what is read of them."""

    sequences: list[tuple[int, ...]]
    reads: Reads
    n_queries: int

    def batch(self, first: int, size: int, pad: int, attention: bool) -> tuple[Batch, slice]:
        """The batch of sequences [first, first + size), and which reads it answers."""
        chosen = self.sequences[first : first + size]
        ids = np.full((len(chosen), len(chosen[0])), pad, dtype=np.int64)
        for row, sequence in enumerate(chosen):
            ids[row, : len(sequence)] = sequence
        reads = self.reads
        low, high = (int(edge) for edge in np.searchsorted(reads.sequence, (first, first + len(chosen))))
        row, column = reads.sequence[low:high] - first, reads.column[low:high]
        new_site = np.ones(high - low, dtype=bool)
        new_site[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
        a, b = (int(edge) for edge in np.searchsorted(reads.block_read, (low, high)))
        batch = Batch(
            ids=ids,
            lengths=np.array([len(sequence) for sequence in chosen]),
            site_row=row[new_site],
            site_column=column[new_site],
            site_of_read=np.cumsum(new_site) - 1,
            token_of_read=reads.token[low:high],
            read_of_block=reads.block_read[a:b] - low,
            token_of_block=reads.block_token[a:b],
            attention=attention,
        )
        return batch, slice(low, high)


def make_plan(queries: Sequence[tuple[int, Query]]) -> Plan:
    """Pools (view number, query) pairs. The same sequence is forwarded once, whoever asks."""
    number_of: dict[tuple[int, ...], int] = {}
    sequence_of_query = [number_of.setdefault(query.ids, len(number_of)) for _, query in queries]
    unique = list(number_of)
    by_length = sorted(range(len(unique)), key=lambda number: -len(unique[number]))
    place = np.empty(len(unique), dtype=np.int64)
    place[by_length] = np.arange(len(unique))
    return Plan(
        sequences=[unique[number] for number in by_length],
        reads=_reads(queries, place[np.array(sequence_of_query, dtype=np.int64)]),
        n_queries=len(queries),
    )


def _reads(queries: Sequence[tuple[int, Query]], place: Ints) -> Reads:
    counts = np.array([len(query.columns) for _, query in queries], dtype=np.int64)
    owner = np.repeat(np.arange(len(queries)), counts)
    sequence = place[owner]
    column = _flat(query.columns for _, query in queries)
    order = np.lexsort((column, sequence))
    starts = np.concatenate(([0], np.cumsum(counts)))
    asks = [(starts[n] + k, query.tokens) for n, (_, query) in enumerate(queries) if query.block for k in range(counts[n])]
    block_read = np.repeat(
        np.argsort(order)[[read for read, _ in asks]] if asks else np.empty(0, dtype=np.int64),
        np.array([len(tokens) for _, tokens in asks], dtype=np.int64),
    )
    by_read = np.argsort(block_read, kind="stable")
    return Reads(
        view=np.array([view for view, _ in queries], dtype=np.int64)[owner][order],
        sentence=np.array([query.sentence for _, query in queries], dtype=np.int64)[owner][order],
        position=_flat(query.positions for _, query in queries)[order],
        token=_flat(query.tokens for _, query in queries)[order],
        sequence=sequence[order],
        column=column[order],
        block_read=block_read[by_read],
        block_token=_flat(tokens for _, tokens in asks)[by_read],
    )


def _flat(parts: Iterable[tuple[int, ...]]) -> Ints:
    return np.array([value for part in parts for value in part], dtype=np.int64)
