"""Probabilities of texts: tokenised, cut to the longest that is allowed, and labelled in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.labels.meaning import toxicity
from tiltmeter.finetune.order import pieces
from tiltmeter.models import Classifier, OutOfMemoryError, Tokenization

CPU_TOKENS, GPU_TOKENS = 4096, 2**16
NO_TOKENS = "the tokenizer makes no tokens of it"


@dataclass(frozen=True)
class Encoded:
    """Token ids of texts, and which texts were cut."""

    rows: list[list[int]]
    cut: NDArray[np.bool_]


def encode(tokens: Tokenization, texts: Sequence[str], longest: int) -> Encoded:
    """With the special tokens that the tokenizer adds; a text that is too long loses its end."""
    limit = min(longest, tokens.max_length or longest)
    whole = [list(one.ids) for one in tokens.encode(texts)]
    cut = np.array([len(ids) > limit for ids in whole], dtype=bool)
    for n in np.flatnonzero(cut).tolist():
        whole[n] = tokens.tokenizer(texts[n], truncation=True, max_length=limit, verbose=False)["input_ids"]
    return Encoded(whole, cut)


def probabilities(
    classifier: Classifier,
    rows: Sequence[Sequence[int]],
    columns: Sequence[int],
    *,
    batch_tokens: int | str = "auto",
    advance: Callable[[float], None] = lambda _: None,
) -> NDArray[np.float64]:
    """How probable it is that each text is toxic; not-a-number for one without tokens. Equal texts are asked once."""
    found = np.full(len(rows), np.nan)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    first: dict[tuple[int, ...], int] = {}
    same = np.array([first.setdefault(tuple(row), n) for n, row in enumerate(rows)], dtype=np.int64)
    alone = np.flatnonzero((same == np.arange(len(rows))) & (lengths > 0))
    order = alone[np.argsort(-lengths[alone], kind="stable")]
    budget = _budget(classifier, batch_tokens)
    at = 0
    while at < len(order):
        some = order[at:][next(iter(pieces(lengths[order[at:]], budget)))]
        try:
            asked = classifier.probabilities(_padded(rows, some, classifier.pad_id), lengths[some])
        except OutOfMemoryError:
            if len(some) == 1:
                raise TiltmeterError(f"A text of {lengths[some[0]]} tokens does not fit: give --max-length.") from None
            budget = max(1, budget // 2)
            continue
        found[some] = toxicity(asked, columns, classifier.independent)
        advance(len(some))
        at += len(some)
    return np.asarray(found[same], dtype=np.float64) if len(rows) else found


def _budget(classifier: Classifier, batch_tokens: int | str) -> int:
    if batch_tokens != "auto":
        return int(batch_tokens)
    return CPU_TOKENS if classifier.device == "cpu" else GPU_TOKENS


def _padded(rows: Sequence[Sequence[int]], some: NDArray[np.int64], pad: int) -> NDArray[np.int64]:
    ids = np.full((len(some), max(len(rows[n]) for n in some)), pad, dtype=np.int64)
    for place, n in enumerate(some):
        ids[place, : len(rows[n])] = rows[n]
    return ids
