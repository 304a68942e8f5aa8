"""Texts for a classification head: encoded, shortened, cut into batches, and padded on the side that the head ignores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiltmeter.models.tokenization import Tokenization

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class EncodedTexts:
    """Token ids of texts, and which texts were cut."""

    rows: list[list[int]]
    cut: NDArray[np.bool_]


def encode_texts(tokens: Tokenization, texts: Sequence[str], max_length: int) -> EncodedTexts:
    """Token ids with the special tokens that the tokenizer adds; a text that is too long loses its end."""
    limit = min(max_length, tokens.max_length or max_length)
    rows = [list(encoded.ids) for encoded in tokens.encode(texts)]
    cut = np.array([len(row) > limit for row in rows], dtype=bool)
    for n in np.flatnonzero(cut).tolist():
        rows[n] = tokens.tokenizer(texts[n], truncation=True, max_length=limit, verbose=False)["input_ids"]
    return EncodedTexts(rows, cut)


def pieces(lengths: Ints, budget: int) -> Iterator[slice]:
    """Cut rows, longest first, so that each piece holds at most so many tokens with its padding, and at least one row.

    >>> [(piece.start, piece.stop) for piece in pieces(np.array([8, 7, 4, 4, 4, 2]), 16)]
    [(0, 2), (2, 6)]
    """
    at = 0
    while at < len(lengths):
        size = max(1, budget // max(1, int(lengths[at])))
        yield slice(at, min(at + size, len(lengths)))
        at += size


def head_logits(module: Any, rows: Sequence[ArrayLike]) -> torch.Tensor:
    """One forward pass of a classification head over rows of token ids: rows × labels.

    A causal head looks for the last token that is not padding, so padding is what the configuration says. A head that
    reads the last position whatever is there (XLNet's) gets its padding on the left.
    """
    import torch

    ids, valid = _padded([np.asarray(row, dtype=np.int64) for row in rows], module.config.pad_token_id or 0, _left(module))
    device = next(module.parameters()).device
    given, mask = (torch.from_numpy(array).to(device) for array in (ids, valid))
    logits: torch.Tensor = module(input_ids=given, attention_mask=mask).logits
    return logits


def _left(module: Any) -> bool:
    return hasattr(module, "sequence_summary") and getattr(module.config, "summary_type", "") == "last"


def _padded(rows: Sequence[Ints], pad: int, left: bool) -> tuple[Ints, Ints]:
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    valid = np.zeros_like(ids)
    for n, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(len(row))
        ids[n, place], valid[n, place] = row, 1
    return ids, valid
