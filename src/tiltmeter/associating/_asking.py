"""How association tests ask: the options, and who watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.probes.embeddings import Advance
from tiltmeter.probes.pooling import find_pooling

Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class Asking:
    """How association tests ask a model."""

    tests: Sequence[str] = ()
    pooling: str = "auto"
    layer: int = -1
    words: str | Path | None = None
    attributes: Sequence[str | Path] = ()
    corpus: Sequence[str | Path] = ()
    contexts: int = 200
    draws: int = 1000

    def check(self) -> None:
        """Refuses what can be known to be wrong before a model is loaded."""
        if self.pooling != "auto":
            find_pooling(self.pooling)
        if self.draws < 2 or self.contexts < 1:
            raise TiltmeterError("CEAT needs at least 2 draws and 1 context for each word.")


def watched(watch: Watch | None, title: str, total: int) -> AbstractContextManager[Advance]:
    """Shows how far one is, if anyone looks."""
    return watch(title, total) if watch else nullcontext(lambda _: None)
