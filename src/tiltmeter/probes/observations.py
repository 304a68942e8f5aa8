"""Collecting answers into observation tables: per batch (to survive an interruption) and per view (finished)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.models import Answer, Tokenization
from tiltmeter.probes.plan import Plan, Reads
from tiltmeter.probes.sentences import Sentence
from tiltmeter.probes.views import Query, Unasked, View
from tiltmeter.storage.observations import OBSERVATIONS

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Replies:
    """A plan's reads with their answers, filled in batch by batch."""

    reads: Reads
    logprob: NDArray[np.float32]
    rank: Ints
    block: NDArray[np.float32]
    attention: NDArray[np.float32]

    def put(self, reads: slice, answer: Answer) -> None:
        """Stores a batch's answer."""
        self.logprob[reads] = answer.logprob
        self.rank[reads] = answer.rank
        self.block[reads] = answer.block
        if answer.received is not None:
            self.attention[reads] = answer.received


class Collected:
    """Answers of one block of items so far: parts of an earlier, interrupted run, and new ones."""

    def __init__(
        self,
        items: Sequence[Item],
        sentences: Sequence[Sentence],
        views: Sequence[View],
        tokens: Tokenization,
    ) -> None:
        self.items, self.sentences, self.views, self.tokens = items, sentences, views, tokens
        self.numbers = {(items[sentence.item].id, sentence.role): n for n, sentence in enumerate(sentences)}
        self.roles = list(dict.fromkeys(sentence.role for sentence in sentences))
        self.item_of = np.array([sentence.item for sentence in sentences], dtype=np.int64)
        self.role_of = np.array([self.roles.index(sentence.role) for sentence in sentences], dtype=np.int64)
        self.content, self.modified = _marks(sentences)
        self._done: set[tuple[int, int, int]] = set()
        self.parts: list[pa.Table] = []
        self.answers: list[Replies] = []

    def remaining(self, view: int, query: Query) -> Query | None:
        """The query, or as much of it as no earlier run has answered."""
        if not self.parts:
            return query
        keep = [n for n, position in enumerate(query.positions) if (view, query.sentence, position) not in self._done]
        if not keep or not query.one_by_one:  # a plain query is answered whole, in one batch
            return query if keep else None
        columns, tokens, positions = (
            tuple(values[n] for n in keep) for values in (query.columns, query.tokens, query.positions)
        )
        return query._replace(columns=columns, tokens=tokens, positions=positions)

    def add_part(self, part: pa.Table) -> set[int]:
        """Adds the stored table of a finished batch, and returns the numbers of the views in it."""
        number = {view.name: n for n, view in enumerate(self.views)}
        rows = part.select(["view", "item", "role", "position"]).to_pydict()
        answered = [
            (number[view], self.numbers[item, role], position)
            for view, item, role, position in zip(*rows.values(), strict=True)
            if view in number
        ]
        self._done.update(answered)
        self.parts.append(part)
        return {view for view, *_ in answered}

    def answers_for(self, plan: Plan) -> Replies:
        """Empty arrays for a plan's answers."""
        n = len(plan.reads.view)
        logprob, block, attention = (np.full(n, np.nan, dtype=np.float32) for _ in range(3))
        self.answers.append(Replies(plan.reads, logprob, np.zeros(n, dtype=np.int64), block, attention))
        return self.answers[-1]


def part_table(answers: Replies, reads: slice, collected: Collected) -> pa.Table:
    """The rows that one batch answered, of all views."""
    return _table(answers, np.arange(reads.start, reads.stop), collected)


def finished_table(view: int, collected: Collected, unasked: pa.Table) -> pa.Table:
    """All rows of one view, in the order of items, roles and positions."""
    name = collected.views[view].name
    new = [_table(replies, np.flatnonzero(replies.reads.view == view), collected) for replies in collected.answers]
    old = [part.filter(pa.compute.equal(part["view"].cast(pa.string()), name)) for part in collected.parts]
    pieces = [piece for piece in (*(part.cast(OBSERVATIONS) for part in old), *new, unasked) if len(piece)]
    if len(pieces) == 1:
        return pieces[0]  # in order already
    table = pa.concat_tables(pieces or [unasked])
    keys = zip(table["item"].to_pylist(), table["role"].to_pylist(), strict=True)
    sentence = np.array([collected.numbers[key] for key in keys], dtype=np.int64)
    position = table["position"].to_numpy()
    order = np.lexsort((position, sentence))
    first = np.ones(len(order), dtype=bool)  # two processes at the same work may have answered the same
    first[1:] = (np.diff(sentence[order]) != 0) | (np.diff(position[order]) != 0)
    return table.unify_dictionaries().take(order[first]).combine_chunks()


def unasked_table(unasked: Sequence[Unasked], view: int, collected: Collected) -> pa.Table:
    """Table with one row, and the reason, for each sentence that could not be scored."""
    reason = {entry.sentence: entry.reason for entry in unasked}
    sentence = np.array(sorted(reason), dtype=np.int64)
    n = len(sentence)
    nothing = np.full(n, np.nan, dtype=np.float32)
    values: dict[str, NDArray[Any]] = {
        "logprob": nothing,
        "rank": np.zeros(n, dtype=np.int64),
        "block": nothing,
        "attention": nothing,
    }
    table = _columns(
        sentence,
        np.full(n, view, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        values,
        collected,
    )
    reasons = pa.array([reason[number] for number in sentence], pa.string()).dictionary_encode()
    return table.set_column(table.schema.get_field_index("reason"), OBSERVATIONS.field("reason"), reasons)


def _table(answers: Replies, rows: Ints, collected: Collected) -> pa.Table:
    reads = answers.reads
    rows = rows[np.lexsort((reads.position[rows], reads.sentence[rows]))]
    values: dict[str, NDArray[Any]] = {
        name: getattr(answers, name)[rows] for name in ("logprob", "rank", "block", "attention")
    }
    return _columns(reads.sentence[rows], reads.view[rows], reads.position[rows], reads.token[rows], values, collected)


def _columns(
    sentence: Ints, view: Ints, position: Ints, token: Ints, values: dict[str, NDArray[Any]], collected: Collected
) -> pa.Table:
    ids, spelling = np.unique(token, return_inverse=True)
    strings = collected.tokens.token_strings([max(int(token_id), 0) for token_id in ids])
    fills = np.array([shown.needs_context for shown in collected.views], dtype=bool)[
        view
    ]  # positions count in the fill there
    at = np.where(fills, 0, np.maximum(position, 0))
    columns = [
        _words(collected.item_of[sentence], [item.id for item in collected.items]),
        _words(collected.role_of[sentence], collected.roles),
        _words(view, [shown.name for shown in collected.views]),
        pa.array(position, pa.int32()),
        _words(spelling, strings),
        pa.array(token, pa.int32()),
        pa.array(~collected.content[sentence, at] & ~fills),
        pa.array(collected.modified[sentence, at] | fills),
        pa.array(values["logprob"]),
        pa.array(values["rank"], pa.int32()),
        pa.array(values["attention"]),
        pa.array(values["block"]),
        pa.nulls(len(sentence), OBSERVATIONS.field("reason").type),
    ]
    return pa.Table.from_arrays(columns, schema=OBSERVATIONS)


def _marks(sentences: Sequence[Sentence]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which positions are content, and which of those are modified, as sentence × position tables."""
    width = max((len(sentence.ids) for sentence in sentences), default=0) + 1
    content, modified = (np.zeros((len(sentences), width), dtype=bool) for _ in range(2))
    for row, sentence in enumerate(sentences):
        content[row, list(sentence.content)] = True
        modified[row, list(sentence.modified)] = True
    return content, modified


def _words(codes: Ints, words: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string()))
