"""Two sentences that begin alike, read by a causal model in one sequence: what they share is computed once.

A causal model's state at a token depends on nothing that follows it. So the second sentence of a pair can branch off the
first one: its own tokens are put behind the first sentence, count their positions from the branch on, and do not attend to
what the first sentence says after it. The numbers are those of two sequences; only rounding may differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.probes.sentences import Sentence
from tiltmeter.probes.views import Query

LEAST_SHARED = 3
"""Tokens, the one in front included: less is not worth a longer sequence."""


def branched(queries: Sequence[Query], sentences: Sequence[Sentence]) -> list[Query]:
    """Join the first two queries of every item into one sequence where they have a common prefix."""
    joined: list[Query] = []
    waiting: dict[int, Query] = {}
    for query in queries:
        item = sentences[query.sentence].item
        first = waiting.pop(item, None)
        if first is None and len(query.ids) >= LEAST_SHARED and not (query.one_by_one or query.block):
            waiting[item] = query
            continue
        joined += [query] if first is None else _joined(first, query)
    return joined + list(waiting.values())


def _joined(first: Query, second: Query) -> list[Query]:
    shared = _shared(first.ids, second.ids)
    if shared < LEAST_SHARED or second.one_by_one or second.block:
        return [first, second]
    start = len(first.ids)
    both = first.ids + second.ids[shared:]
    branch = (shared, start) if len(both) > start else (0, 0)
    columns = tuple(column if column < shared else column - shared + start for column in second.columns)
    return [first._replace(ids=both, branch=branch), second._replace(ids=both, branch=branch, columns=columns)]


def _shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return next((n for n, (in_a, in_b) in enumerate(zip(a, b, strict=False)) if in_a != in_b), min(len(a), len(b)))
