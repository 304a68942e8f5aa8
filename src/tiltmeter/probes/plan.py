"""Planning a block: queries of all views pooled, duplicates dropped, sorted by length, cut into batches.

A sequence is a query's ids, those ids with one column masked, or a row of prefix trees that hold several queries. It is
written out only when its batch is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models import Batch, RowLength
from tiltmeter.probes.shared_prefixes import Rows, flat, shared_rows, single_rows, sizes
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
    """Unique sequences, longest first, and what is read of them. `masked` is a column, or −1 for none.

    `ends`: for each id, the column behind its last descendant (see `shared_prefixes`).
    """

    ids: Ints
    ends: Ints
    start: Ints
    masked: Ints
    lengths: Ints
    mask_id: int
    reads: Reads
    n_asked: int
    tokens_asked: int

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, first: int, size: int, pad: int, attention: bool) -> tuple[Batch, slice]:
        """The batch of sequences [first, first + size), and which reads it answers."""
        lengths = self.lengths[first : first + size]
        masked = self.masked[first : first + size]
        ids = np.full((len(lengths), int(lengths[0])), pad, dtype=np.int64)
        here = np.arange(ids.shape[1])
        inside = here < lengths[:, None]
        at = (self.start[first : first + size, None] + here)[inside]
        ids[inside] = self.ids[at]
        ends = np.zeros_like(ids)
        ends[inside] = self.ends[at]
        row = np.flatnonzero(masked >= 0)
        ids[row, masked[row]] = self.mask_id
        reads = self.reads
        low, high = (int(edge) for edge in np.searchsorted(reads.sequence, (first, first + len(lengths))))
        row, column = reads.sequence[low:high] - first, reads.column[low:high]
        new_site = np.ones(high - low, dtype=bool)
        new_site[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
        a, b = (int(edge) for edge in np.searchsorted(reads.block_read, (low, high)))
        batch = Batch(
            ids=ids,
            lengths=lengths,
            site_row=row[new_site],
            site_column=column[new_site],
            site_of_read=np.cumsum(new_site) - 1,
            token_of_read=reads.token[low:high],
            read_of_block=reads.block_read[a:b] - low,
            token_of_block=reads.block_token[a:b],
            attention=attention,
            ends=ends if (inside & (ends < lengths[:, None])).any() else None,
        )
        return batch, slice(low, high)


def make_plan(queries: Mapping[int, Sequence[Query]], mask_id: int, tree_rows: RowLength | None = None) -> Plan:
    """Pool the queries of several views, by the views' numbers. Equal sequences are forwarded once.

    With `tree_rows` (of a causal model, whose queries mask nothing), queries that begin alike share a row.
    """
    pooled = [query for of_view in queries.values() for query in of_view]
    rows = shared_rows(pooled, tree_rows) if tree_rows else single_rows(pooled)
    counts = sizes(query.columns for query in pooled)
    one_by_one = np.array([query.one_by_one for query in pooled], dtype=bool)
    start = np.cumsum(rows.lengths) - rows.lengths
    owner = np.repeat(np.arange(len(pooled)), counts)  # of each read

    # A row is one sequence; that of a query that masks its columns one by one is as many as it has columns.
    n_sequences = np.ones(len(rows.lengths), dtype=np.int64)
    n_sequences[rows.row[one_by_one]] = counts[one_by_one]
    row_of = np.repeat(np.arange(len(n_sequences)), n_sequences)
    first_sequence = np.cumsum(n_sequences) - n_sequences
    within = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
    sequence_of_read = first_sequence[rows.row[owner]] + np.where(one_by_one[owner], within, 0)
    masked = np.full(len(row_of), -1, dtype=np.int64)
    masked[sequence_of_read[one_by_one[owner]]] = rows.columns[one_by_one[owner]]

    kept, same_as = _unique(rows, start, row_of, masked, mask_id)
    by_length = np.argsort(-rows.lengths[row_of[kept]], kind="stable")
    place = np.empty_like(by_length)
    place[by_length] = np.arange(len(by_length))
    chosen = kept[by_length]
    view = np.repeat(list(queries), [len(of_view) for of_view in queries.values()])
    n_asked = np.where(one_by_one, counts, 1)
    return Plan(
        ids=rows.ids,
        ends=rows.ends,
        start=start[row_of[chosen]],
        masked=masked[chosen],
        lengths=rows.lengths[row_of[chosen]],
        mask_id=mask_id,
        reads=_reads(pooled, view[owner], owner, rows.columns, place[same_as[sequence_of_read]]),
        n_asked=int(n_asked.sum()),
        tokens_asked=int((n_asked * sizes(query.ids for query in pooled)).sum()),
    )


def _unique(rows: Rows, start: Ints, row_of: Ints, masked: Ints, mask_id: int) -> tuple[Ints, Ints]:
    """One of each distinct sequence, and for every sequence which of those it equals.

    Sequences are distinguished by 128-bit fingerprints: sums of random weights by position, so that masking a column
    changes a fingerprint by one term and no sequence needs to be written out.
    """
    rng = np.random.default_rng(0)
    ids, lengths = rows.ids, rows.lengths
    position = np.arange(len(ids)) - np.repeat(start, lengths)
    prints = []
    for _ in range(2):
        weight = rng.integers(0, 2**64, size=int(lengths.max()) + 1, dtype=np.uint64)
        with np.errstate(over="ignore"):
            whole = np.add.reduceat(weight[position] * (ids + 1).astype(np.uint64), start) + weight[lengths]
            whole += np.add.reduceat(weight[::-1][position] * rows.ends.astype(np.uint64), start)
            value = whole[row_of]
            at = masked >= 0
            replaced = ids[start[row_of[at]] + masked[at]]
            value[at] += weight[masked[at]] * (np.uint64(mask_id) - replaced.astype(np.uint64))
        prints.append(value)
    order = np.lexsort(prints)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (prints[0][order][1:] != prints[0][order][:-1]) | (prints[1][order][1:] != prints[1][order][:-1])
    same_as = np.empty_like(order)
    same_as[order] = np.cumsum(new) - 1
    return order[new], same_as


def _reads(queries: Sequence[Query], view: Ints, owner: Ints, column: Ints, sequence: Ints) -> Reads:
    order = np.lexsort((column, sequence))
    reads_of = np.searchsorted(owner, np.arange(len(queries) + 1))
    asks = [
        (read, query.tokens)
        for number, query in enumerate(queries)
        if query.block
        for read in range(reads_of[number], reads_of[number + 1])
    ]
    block_read = np.repeat(
        np.argsort(order)[[read for read, _ in asks]] if asks else np.empty(0, dtype=np.int64),
        sizes(tokens for _, tokens in asks),
    )
    by_read = np.argsort(block_read, kind="stable")
    return Reads(
        view=view[order],
        sentence=np.array([query.sentence for query in queries], dtype=np.int64)[owner][order],
        position=flat(query.positions for query in queries)[order],
        token=flat(query.tokens for query in queries)[order],
        sequence=sequence[order],
        column=column[order],
        block_read=block_read[by_read],
        block_token=flat(tokens for _, tokens in asks)[by_read],
    )
