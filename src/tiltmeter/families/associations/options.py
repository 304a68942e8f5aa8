"""Options of association tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.families.kit.options import LANGUAGE, named, option
from tiltmeter.probes.pooling import find_pooling


@named
@dataclass(frozen=True)
class AssociationsOptions:
    """Which tests, how vectors are made, and where words and their contexts come from."""

    tests: Sequence[str] = option((), "A test, a domain (gender, race …) or all; ilps: a domain; repeatable.", "--test")
    pooling: str = option("auto", "seat, ceat: how a vector is made (mean, cls, last, word_mean …).")
    layer: int = option(-1, "seat, ceat: which layer; −1 is the last, 0 the input embeddings.")
    words: Path | None = option(None, "ceat, ilps: your own word sets (docs/associations.md).")
    attributes: Sequence[Path] = option((), "ilps: a word list, one word per line; repeatable.")
    corpus: Sequence[Path] = option((), "ceat: text with contexts (plain, gz, xz); repeatable.")
    contexts: int = option(200, "ceat: sentences taken for each word, at most 1,000.")
    language: str | None = option(None, LANGUAGE)
    draws: int = option(1000, "ceat: draws of contexts (10,000 as published).")

    def check(self) -> None:
        """Raises an error for wrong options before a model is loaded."""
        if self.pooling != "auto":
            find_pooling(self.pooling)
        if self.draws < 2 or self.contexts < 1:
            raise UsageError(
                "ceat needs at least 2 draws and 1 context for each word.",
                code="out-of-range", draws=self.draws, contexts=self.contexts,
            )  # fmt: skip


Options = AssociationsOptions
