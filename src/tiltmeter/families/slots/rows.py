"""The tables of slots: one row per sentence and term, and one per sentence and likeliest prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.families.slots.terms import Term

_WORD = pa.dictionary(pa.int32(), pa.string())
SLOTS = pa.schema(
    [
        ("item", _WORD), ("group", _WORD), ("term", _WORD), ("pieces", pa.int16()), ("logprob", pa.float32()),
        ("rank", pa.int32()), ("among", _WORD), ("reason", _WORD),
    ]
)  # fmt: skip
"""`pieces`: tokens of the term. `rank` 0: not ranked. `among`: what it is ranked among, the vocabulary or the candidates.

A sentence that cannot be filled has one row per group, without a term, and the reason.
"""
PREDICTIONS = pa.schema([("item", _WORD), ("rank", pa.int16()), ("token", _WORD), ("logprob", pa.float32())])
"""The likeliest tokens of a masked model, listed or not; empty for a causal model, which has no mask."""
NOT_FINITE = "the model's output is not finite"
TOO_LONG = "too long with this term"


@dataclass(frozen=True)
class Rows:
    """Log-probabilities and ranks: sentences × terms."""

    terms: tuple[Term, ...]
    logprob: NDArray[np.float32]
    rank: NDArray[np.int64]
    among: str
    top_token: NDArray[np.int64] | None = None
    top_logprob: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Asked:
    """A sentence of a block: its row, or the reason why it has none."""

    number: int
    row: int = 0
    rows: Rows | None = None
    reason: str | None = None


def rows_table(items: Sequence[Item], groups: Sequence[str], sentences: Sequence[Asked]) -> pa.Table:
    """All rows, in the order of the items."""
    names = pa.array([item.id for item in items], pa.string())
    shared: dict[int, list[Asked]] = {}
    for sentence in sentences:
        shared.setdefault(id(sentence.rows), []).append(sentence)
    parts = [_answers(names, same) if same[0].rows else _refusals(names, groups, same) for same in shared.values()]
    whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    number = np.concatenate(
        [np.repeat([sentence.number for sentence in same], _width(same[0], groups)) for same in shared.values()]
    )
    return whole.take(np.argsort(number, kind="stable"))


def predictions_table(items: Sequence[Item], sentences: Sequence[Asked], spell: Callable[[int], str]) -> pa.Table:
    """The likeliest tokens of each sentence, best first, in the order of the items."""
    rows = [
        (items[sentence.number].id, place, spell(int(token)), float(value))
        for sentence in sorted(sentences, key=lambda sentence: sentence.number)
        if sentence.rows is not None and sentence.rows.top_token is not None and sentence.rows.top_logprob is not None
        for place, (token, value) in enumerate(
            zip(sentence.rows.top_token[sentence.row], sentence.rows.top_logprob[sentence.row], strict=True), 1
        )
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(PREDICTIONS)
    plain = pa.schema([(field.name, pa.string() if field.type == _WORD else field.type) for field in PREDICTIONS])
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, plain, strict=True)], plain).cast(
        PREDICTIONS
    )


def _width(sentence: Asked, groups: Sequence[str]) -> int:
    return len(sentence.rows.terms) if sentence.rows else len(groups)


def _answers(names: pa.Array, sentences: Sequence[Asked]) -> pa.Table:
    """The rows of sentences that share their terms, made for all of them at once."""
    rows = sentences[0].rows
    assert rows is not None
    n, width = len(sentences), len(rows.terms)
    at = [sentence.row for sentence in sentences]
    logprob, pieces = rows.logprob[at].ravel(), np.tile([len(term.ids) for term in rows.terms], n)
    reason = np.where(np.isfinite(logprob), -1, np.where(pieces > 1, 0, 1))
    return pa.Table.from_arrays(
        [
            _words(np.repeat([sentence.number for sentence in sentences], width), names),
            pa.array([term.group for term in rows.terms] * n, pa.string()).dictionary_encode(),
            _words(np.tile(np.arange(width), n), [term.word for term in rows.terms]),
            pa.array(pieces, pa.int16()),
            pa.array(logprob),
            pa.array(rows.rank[at].ravel(), pa.int32()),
            _words(np.zeros(n * width, dtype=np.int64), [rows.among]),
            _words(reason, [TOO_LONG, NOT_FINITE]),
        ],
        schema=SLOTS,
    )


def _refusals(names: pa.Array, groups: Sequence[str], sentences: Sequence[Asked]) -> pa.Table:
    n, width = len(sentences), len(groups)
    nothing = np.full(n * width, -1)
    return pa.Table.from_arrays(
        [
            _words(np.repeat([sentence.number for sentence in sentences], width), names),
            _words(np.tile(np.arange(width), n), groups),
            _words(nothing, []),
            pa.array(np.zeros(n * width), pa.int16()),
            pa.array(np.full(n * width, np.nan, dtype=np.float32)),
            pa.array(np.zeros(n * width), pa.int32()),
            _words(nothing, []),
            pa.array([sentence.reason for sentence in sentences for _ in groups], pa.string()).dictionary_encode(),
        ],
        schema=SLOTS,
    )


def _words(codes: NDArray[np.int64], words: Sequence[str] | pa.Array) -> pa.DictionaryArray:
    """A dictionary array; the code −1 is null."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), pa.array(words, pa.string()))
