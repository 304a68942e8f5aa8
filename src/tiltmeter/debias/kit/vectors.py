"""Vectors of sentences: the last hidden state, averaged over all positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import InputError
from tiltmeter.models import Parts, encoder_of, wrap_model
from tiltmeter.probes.embeddings import EmbeddingProbe
from tiltmeter.probes.pooling import Passage

Rows = NDArray[np.float64]


def sentence_vectors(parts: Parts, texts: Sequence[str]) -> Rows:
    """One row per text, not a number where the model cannot take it (it is too long)."""
    model = wrap_model(parts.module, parts.tokenizer, name="base", kind=parts.kind, facts=parts.facts)
    probe = EmbeddingProbe(encoder_of(model), None, pooling="mean")
    return np.asarray(probe.vectors([Passage(text) for text in texts]).rows, dtype=np.float64)


def usable(rows: Rows) -> NDArray[np.bool_]:
    """Rows (the last axis) without a gap."""
    return np.asarray(np.isfinite(rows).all(-1))


def orthonormal(directions: Rows) -> Rows:
    """A basis of what these rows span, without those that add nothing to the rows before them."""
    basis: list[NDArray[np.float64]] = []
    for row in directions:
        rest = row.astype(np.float64)
        for _ in range(2):  # once more for what rounding left
            for one in basis:
                rest = rest - (rest @ one) * one
        length = float(np.linalg.norm(rest))
        if length > 1e-8 * float(np.linalg.norm(row)):
            basis.append(rest / length)
    return np.array(basis).reshape(len(basis), directions.shape[1])


def without(rows: Rows, basis: Rows) -> Rows:
    """Rows without their parts along an orthonormal basis."""
    return rows - (rows @ basis.T) @ basis


def check_count(n: int, least: int, what: str, where: str) -> None:
    """Refuse too little text."""
    if n < least:
        raise InputError(
            f"{where} has {n} {what}; at least {least} are needed. Use more text (--text).",
            code="too-few", kind=what, count=n, least=least, source=where,
        )  # fmt: skip


def unit(rows: Rows) -> Rows:
    """Rows of length 1."""
    lengths: Any = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))
