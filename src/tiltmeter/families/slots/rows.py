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

A sentence that cannot be asked has one row per group, without a term, and the reason.
"""
PREDICTIONS = pa.schema([("item", _WORD), ("rank", pa.int16()), ("token", _WORD), ("logprob", pa.float32())])
"""The likeliest tokens of a masked model, whatever they are; a causal model predicts no mask and has none."""
NOT_FINITE = "the model's output is not finite"
TOO_LONG = "too long with this term"


@dataclass(frozen=True)
class Rows:
    """Sentences × terms."""

    terms: tuple[Term, ...]
    logprob: NDArray[np.float32]
    rank: NDArray[np.int64]
    among: str
    top_token: NDArray[np.int64] | None = None
    top_logprob: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Asked:
    """A sentence of a block: its place in some rows, or the reason why it has none."""

    number: int
    row: int = 0
    rows: Rows | None = None
    reason: str | None = None


def rows_table(items: Sequence[Item], groups: Sequence[str], asked: Sequence[Asked]) -> pa.Table:
    """All rows, in the order of the items."""
    names = pa.array([item.id for item in items], pa.string())
    shared: dict[int, list[Asked]] = {}
    for one in asked:
        shared.setdefault(id(one.rows), []).append(one)
    parts = [_answers(names, same) if same[0].rows else _refusals(names, groups, same) for same in shared.values()]
    whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    number = np.concatenate([np.repeat([one.number for one in same], _width(same[0], groups)) for same in shared.values()])
    return whole.take(np.argsort(number, kind="stable"))


def predictions_table(items: Sequence[Item], asked: Sequence[Asked], spell: Callable[[int], str]) -> pa.Table:
    """The likeliest tokens of each sentence, best first, in the order of the items."""
    rows = [
        (items[one.number].id, place, spell(int(token)), float(value))
        for one in sorted(asked, key=lambda one: one.number)
        if one.rows is not None and one.rows.top_token is not None and one.rows.top_logprob is not None
        for place, (token, value) in enumerate(
            zip(one.rows.top_token[one.row], one.rows.top_logprob[one.row], strict=True), 1
        )
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(PREDICTIONS)
    plain = pa.schema([(field.name, pa.string() if field.type == _WORD else field.type) for field in PREDICTIONS])
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, plain, strict=True)], plain).cast(
        PREDICTIONS
    )


def _width(one: Asked, groups: Sequence[str]) -> int:
    return len(one.rows.terms) if one.rows else len(groups)


def _answers(names: pa.Array, asked: Sequence[Asked]) -> pa.Table:
    """Sentences that share their terms: columns are made for all of them at once."""
    rows = asked[0].rows
    assert rows is not None
    n, width = len(asked), len(rows.terms)
    at = [one.row for one in asked]
    logprob, pieces = rows.logprob[at].ravel(), np.tile([len(term.ids) for term in rows.terms], n)
    reason = np.where(np.isfinite(logprob), -1, np.where(pieces > 1, 0, 1))
    return pa.Table.from_arrays(
        [
            _words(np.repeat([one.number for one in asked], width), names),
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


def _refusals(names: pa.Array, groups: Sequence[str], asked: Sequence[Asked]) -> pa.Table:
    n, width = len(asked), len(groups)
    nothing = np.full(n * width, -1)
    return pa.Table.from_arrays(
        [
            _words(np.repeat([one.number for one in asked], width), names),
            _words(np.tile(np.arange(width), n), groups),
            _words(nothing, []),
            pa.array(np.zeros(n * width), pa.int16()),
            pa.array(np.full(n * width, np.nan, dtype=np.float32)),
            pa.array(np.zeros(n * width), pa.int32()),
            _words(nothing, []),
            pa.array([one.reason for one in asked for _ in groups], pa.string()).dictionary_encode(),
        ],
        schema=SLOTS,
    )


def _words(codes: NDArray[np.int64], words: Sequence[str] | pa.Array) -> pa.DictionaryArray:
    """−1 is no word."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), pa.array(words, pa.string()))
