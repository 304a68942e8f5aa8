"""The embeddings probe: a model's vectors of passages. Batched, sorted by length, each sequence forwarded once, cached."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models import Encoded, Encoder, PoolBatch, StaticVectors
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.passes import Span, batched
from tiltmeter.probes.pooling import TOO_LONG, Passage, find_pooling, positions_of
from tiltmeter.probes.work import Advance
from tiltmeter.storage.provenance import identity
from tiltmeter.storage.rows import RowCache, Rows, key_of

SAVE_EVERY = 1024
NOT_A_WORD = "a static vector is for a word"
NOT_FINITE = "a vector with values that are not finite"


@dataclass(frozen=True)
class Vectors:
    """One row per passage, NaN where there is no vector; `reasons` says why."""

    rows: Rows
    reasons: dict[int, str]


@dataclass(frozen=True)
class Asked:
    """A passage ready to be forwarded."""

    key: int
    ids: tuple[int, ...]
    positions: tuple[int, ...]


class EmbeddingProbe:
    """Probe for the vectors of many passages, by one pooling of one layer."""

    def __init__(
        self,
        encoder: Encoder,
        cache_root: Path | None = None,
        *,
        pooling: str = "auto",
        layer: int = -1,
        batch_tokens: int | str = "auto",
        version: int = 1,
    ) -> None:
        encoder.check_layer(layer)
        self.encoder = encoder
        self.layer = layer
        self.pooling = find_pooling(encoder.default_pooling if pooling == "auto" else pooling)
        self.budget = TokenBudget(encoder, batch_tokens)
        asked = {"pooling": self.pooling.name, "layer": str(layer), "version": str(version)}
        self.cache = RowCache(cache_root, identity(encoder, without=("kind",), **asked))
        self.computed = self.reused = 0

    @property
    def label(self) -> str:
        """Name of pooling and layer, for the column `scorer`."""
        return self.pooling.name if self.layer == -1 else f"{self.pooling.name}@{self.layer}"

    def vectors(self, passages: Sequence[Passage], advance: Advance | None = None) -> Vectors:
        """The vector of every passage, from the cache or else from the model."""
        advance = advance or (lambda _: None)
        keys = [key_of(passage.text, passage.span if self.pooling.of_word else None) for passage in passages]
        vectors = self.cache.load(keys)
        self.reused += len(vectors)
        missing = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in vectors}
        advance(len(passages) - len(missing))
        ready, reasons = self._plan(missing)
        advance(len(reasons))
        vectors |= self._forward(ready, advance)
        width = len(next(iter(vectors.values()))) if vectors else 1
        rows = np.full((len(passages), width), np.nan, dtype=np.float32)
        for at, key in enumerate(keys):
            if key in vectors:
                rows[at] = vectors[key]
        unusable = {at: reasons[key] for at, key in enumerate(keys) if key in reasons}
        return Vectors(rows, unusable | no_direction(rows, unusable))

    def _plan(self, passages: dict[int, Passage]) -> tuple[list[Asked], dict[int, str]]:
        tokens = self.encoder.tokens
        if self.pooling.of_word and not tokens.tokenizer.is_fast:
            raise ModelError(
                f"{self.pooling.name} needs a fast tokenizer, and {self.encoder.name} has a slow one.",
                code="missing-capability",
                model=self.encoder.name,
                needs="fast tokenizer",
            )
        encoded = tokens.encode([passage.text for passage in passages.values()], offsets=self.pooling.of_word)
        ready: list[Asked] = []
        reasons: dict[int, str] = {}
        for (key, passage), text in zip(passages.items(), encoded, strict=True):
            positions = self._positions(passage, text)
            if isinstance(positions, str):
                reasons[key] = positions
            else:
                ready.append(Asked(key, text.ids, positions))
        return ready, reasons

    def _positions(self, passage: Passage, encoded: Encoded) -> tuple[int, ...] | str:
        most = self.encoder.tokens.max_length
        if most and len(encoded.ids) > most:
            return TOO_LONG.format(most)
        return positions_of(self.pooling, encoded, passage.span)

    def _forward(self, ready: Sequence[Asked], advance: Advance) -> dict[int, Rows]:
        """Forward batches, longest first. What is finished is stored even if the run is interrupted."""
        groups: dict[tuple[int, ...], list[Asked]] = {}
        for passage in ready:  # a sentence with two stimuli is forwarded once
            groups.setdefault(passage.ids, []).append(passage)
        ordered = sorted(groups.values(), key=lambda group: -len(group[0].ids))
        self.encoder.check_ids(np.array(sorted(set(chain.from_iterable(groups))), dtype=np.int64))
        lengths = np.array([len(group[0].ids) for group in ordered], dtype=np.int64)
        computed: dict[int, Rows] = {}
        unsaved: list[int] = []

        def embed(span: Span) -> tuple[list[int], Rows]:
            part = ordered[span.first : span.first + span.size]
            rows = self.encoder.embed(_batch(part, self.encoder.tokens.pad_id), self.layer)
            return [ready.key for group in part for ready in group], rows

        try:
            for _, (keys, rows) in batched(lengths, self.budget, embed):
                computed.update(zip(keys, rows, strict=True))
                unsaved += keys
                if len(unsaved) >= SAVE_EVERY:
                    self._save(unsaved, computed)
                advance(len(keys))
        finally:
            self._save(unsaved, computed)
        self.computed += len(computed)
        return computed

    def _save(self, keys: list[int], computed: dict[int, Rows]) -> None:
        if keys:
            self.cache.save(keys, np.stack([computed[key] for key in keys]))
            keys.clear()


class StaticProbe:
    """Probe for static vectors: a passage is a word, and words that are not in the vocabulary are missing."""

    label = "static"

    def __init__(self, vectors: StaticVectors) -> None:
        self.encoder = vectors
        self.computed = self.reused = 0

    def vectors(self, passages: Sequence[Passage], advance: Advance | None = None) -> Vectors:
        """The vector of every passage's text."""
        vectors = self.encoder.lookup([passage.text for passage in passages])
        width = len(next(iter(vectors.values()))) if vectors else 1
        rows = np.full((len(passages), width), np.nan, dtype=np.float32)
        reasons: dict[int, str] = {}
        for at, passage in enumerate(passages):
            if passage.text not in vectors:
                reasons[at] = NOT_A_WORD if " " in passage.text else "not in the vocabulary"
            else:
                rows[at] = vectors[passage.text]
        if advance:
            advance(len(passages))
        return Vectors(rows, reasons | no_direction(rows, reasons))


def no_direction(rows: Rows, skipped: Collection[int]) -> dict[int, str]:
    """Reasons why rows have no direction, if not known yet. Such rows, zeros included, become NaN in place."""
    zero = ~np.any(rows, axis=1)
    odd = zero | ~np.isfinite(rows).all(axis=1)
    rows[odd] = np.nan
    reasons = {at: "a zero vector" if zero[at] else NOT_FINITE for at in np.flatnonzero(odd).tolist()}
    return {at: why for at, why in reasons.items() if at not in skipped}


def _batch(groups: Sequence[Sequence[Asked]], pad: int) -> PoolBatch:
    """Padded ids, and a flat list of (row, column, vector, weight)."""
    lengths = np.array([len(group[0].ids) for group in groups], dtype=np.int64)
    ids = np.full((len(groups), int(lengths.max())), pad, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(group[0].ids for group in groups), dtype=np.int64
    )
    flat = [(row, passage.positions) for row, group in enumerate(groups) for passage in group]
    counts = np.array([len(positions) for _, positions in flat], dtype=np.int64)
    return PoolBatch(
        ids=ids,
        lengths=lengths,
        row=np.repeat(np.array([row for row, _ in flat], dtype=np.int64), counts),
        column=np.fromiter(chain.from_iterable(positions for _, positions in flat), dtype=np.int64),
        vector=np.repeat(np.arange(len(flat)), counts),
        weight=_inverse(counts),
        n_vectors=len(flat),
    )


def _inverse(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.repeat(1.0 / counts, counts).astype(np.float32)
