"""Readability of texts for a model: unknown tokens, and special tokens spelled out in a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tiltmeter.models import TokenCount


class Readable:
    """Counts over texts: tokens, unknown ones, and in how many texts special tokens are spelled out."""

    def __init__(self) -> None:
        self.total = Counter[str]()
        self.special = Counter[str]()

    def add(self, counts: Sequence[TokenCount]) -> None:
        """Add texts."""
        self.total["texts"] += len(counts)
        self.total["tokens"] += sum(count.tokens for count in counts)
        self.total["unknown"] += sum(count.unknown for count in counts)
        self.total["texts_with_unknown"] += sum(count.unknown > 0 for count in counts)
        self.special.update(token for count in counts if count.special for token in set(count.special))

    def facts(self) -> dict[str, Any]:
        """Counts for the manifest."""
        return dict(self.total) | {"special": dict(sorted(self.special.items()))}
