"""The table of slots: one row per sentence and term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.probes.terms import Term

_WORD = pa.dictionary(pa.int32(), pa.string())
SLOTS = pa.schema(
    [
        ("item", _WORD), ("group", _WORD), ("term", _WORD), ("pieces", pa.int16()), ("logprob", pa.float32()),
        ("rank", pa.int32()), ("among", _WORD), ("note", _WORD),
    ]
)  # fmt: skip
"""`pieces`: tokens of the term. `rank` 0: not ranked. `among`: what it is ranked among, the vocabulary or the candidates.

A sentence that cannot be asked has one row per group, without a term, and a note that says why.
"""
NOT_FINITE = "the model's output is not finite"
TOO_LONG = "too long with this term"


@dataclass(frozen=True)
class Rows:
    """Sentences × terms."""

    terms: tuple[Term, ...]
    logprob: NDArray[np.float32]
    rank: NDArray[np.int64]
    among: str


@dataclass(frozen=True)
class Asked:
    """A sentence of a block: its place in some rows, or a note why it has none."""

    number: int
    row: int = 0
    rows: Rows | None = None
    note: str | None = None


def rows_table(items: Sequence[Item], groups: Sequence[str], asked: Sequence[Asked]) -> pa.Table:
    """All rows, in the order of the items."""
    columns: dict[str, list[Any]] = {name: [] for name in SLOTS.names}
    for one in sorted(asked, key=lambda one: one.number):
        found = _refusal(groups, one.note) if one.rows is None else _answers(one.rows, one.row)
        n = len(found["group"])
        for name, values in ({"item": [items[one.number].id] * n} | found).items():
            columns[name] += values
    return pa.Table.from_pydict(columns, schema=SLOTS)


def _refusal(groups: Sequence[str], note: str | None) -> dict[str, list[Any]]:
    n = len(groups)
    nothing: dict[str, list[Any]] = {name: [None] * n for name in ("term", "among")}
    return nothing | {
        "group": list(groups), "pieces": [0] * n, "logprob": [np.nan] * n, "rank": [0] * n, "note": [note] * n,
    }  # fmt: skip


def _answers(rows: Rows, row: int) -> dict[str, list[Any]]:
    logprob, terms = rows.logprob[row].tolist(), rows.terms
    return {
        "group": [term.group for term in terms],
        "term": [term.word for term in terms],
        "pieces": [len(term.ids) for term in terms],
        "logprob": logprob,
        "rank": rows.rank[row].tolist(),
        "among": [rows.among] * len(terms),
        "note": [_note(value, term) for value, term in zip(logprob, terms, strict=True)],
    }


def _note(logprob: float, term: Term) -> str | None:
    if np.isfinite(logprob):
        return None
    return TOO_LONG if len(term.ids) > 1 else NOT_FINITE
