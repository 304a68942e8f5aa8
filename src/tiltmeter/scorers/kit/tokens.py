"""The table of token observations as arrays, and the two sums that scorers are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """One score per sentence; where it is missing (NaN), `reason` says why."""

    value: Floats
    n_tokens: NDArray[np.int64]
    reason: NDArray[np.object_]

    def but(self, value: Floats, *, reason: NDArray[np.object_] | None = None) -> Scored:
        """A copy with other values."""
        return Scored(value, self.n_tokens, self.reason if reason is None else reason)


@dataclass(frozen=True)
class Tokens:
    """Content tokens of one view, sentence by sentence. `unasked` has, per sentence, the reason why it was not scored."""

    sentence: NDArray[np.int64]
    modified: Bools
    logprob: Floats
    rank: NDArray[np.int64]
    attention: Floats
    block_logprob: Floats
    unasked: NDArray[np.object_]

    def total(self, values: Floats, keep: Bools | None = None, empty: str = "no tokens") -> Scored:
        """Sum per sentence over the kept tokens; missing where no token is kept."""
        count, value = self._sums(values, keep)
        return self._scored(np.where(count > 0, value, np.nan), count, empty)

    def mean(self, values: Floats, keep: Bools | None = None, empty: str = "no tokens") -> Scored:
        """Mean per sentence over the kept tokens; missing where no token is kept."""
        count, value = self._sums(values, keep)
        return self._scored(np.divide(value, count, out=np.full(len(count), np.nan), where=count > 0), count, empty)

    def _sums(self, values: Floats, keep: Bools | None) -> tuple[NDArray[np.int64], Floats]:
        sentence = self.sentence if keep is None else self.sentence[keep]
        kept = values if keep is None else values[keep]
        n = len(self.unasked)
        counts = np.bincount(sentence, minlength=n).astype(np.int64)
        return counts, np.bincount(sentence, weights=kept, minlength=n).astype(np.float64)

    def _scored(self, value: Floats, count: NDArray[np.int64], empty: str) -> Scored:
        reason = self.unasked.copy()
        asked = np.array([why is None for why in reason], dtype=bool)
        value = np.where(asked & np.isfinite(value), value, np.nan)
        reason[asked & (count == 0)] = empty
        reason[asked & (count > 0) & np.isnan(value)] = "the model's output was not a finite number"
        return Scored(value, count, reason)


def tokens_of(table: Any, sentences: Sequence[tuple[str, str]]) -> Tokens:
    """Arrays from an observation table; `sentences` are the (item, role) pairs in the order wanted."""
    number = {key: n for n, key in enumerate(sentences)}
    item, role = _codes(table["item"]), _codes(table["role"])
    lookup = np.array(
        [[number.get((item_id, role_name), -1) for role_name in role[1]] or [-1] for item_id in item[1]], dtype=np.int64
    ).reshape(len(item[1]), max(1, len(role[1])))
    sentence = lookup[item[0], role[0]] if len(item[0]) else np.empty(0, dtype=np.int64)
    position = table["position"].to_numpy()
    unasked = np.full(len(sentences), None, dtype=object)
    reasons = _codes(table["reason"])
    for row in np.flatnonzero(position < 0):
        if sentence[row] >= 0:
            unasked[sentence[row]] = reasons[1][reasons[0][row]]
    keep = (position >= 0) & ~table["special"].to_numpy(zero_copy_only=False) & (sentence >= 0)
    return Tokens(
        sentence=sentence[keep],
        modified=table["modified"].to_numpy(zero_copy_only=False)[keep],
        logprob=table["logprob"].to_numpy().astype(np.float64)[keep],
        rank=table["rank"].to_numpy().astype(np.int64)[keep],
        attention=table["attention"].to_numpy().astype(np.float64)[keep],
        block_logprob=table["block_logprob"].to_numpy().astype(np.float64)[keep],
        unasked=unasked,
    )


def _codes(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """A dictionary column as codes and words; null is code −1."""
    if len(column) == 0:
        return np.empty(0, dtype=np.int64), []
    whole = column.unify_dictionaries().combine_chunks()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, whole.dictionary.to_pylist()
