"""Counts of a probe's work, and the function that reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Advance = Callable[[float], None]


class Share(NamedTuple):
    """The part of a cell that one of several workers computes: every `of`-th block. Workers do not change the blocks."""

    number: int = 0
    of: int = 1

    def has(self, block: int) -> bool:
        """Return True if a block belongs to this share.

        >>> [block for block in range(6) if Share(1, 3).has(block)]
        [1, 4]
        """
        return block % self.of == self.number


WHOLE = Share()


@dataclass
class Work:
    """Counts of a probe's work: batches run now, batches found in the cache, sequences forwarded, duplicates avoided.

    `tokens_asked` are those of all sequences, one by one; `tokens_forwarded` are fewer where sequences are equal or share
    their first tokens. Padding is not counted.
    """

    computed: set[str] = field(default_factory=set)
    reused: set[str] = field(default_factory=set)
    sequences: int = 0
    duplicates: int = 0
    tokens_asked: int = 0
    tokens_forwarded: int = 0

    def plan(self, n_asked: int, n_planned: int, tokens_asked: int) -> None:
        """Count what is to be forwarded."""
        self.duplicates += n_asked - n_planned
        self.tokens_asked += tokens_asked

    def forwarded(self, lengths: NDArray[np.int64]) -> None:
        """Count a batch of sequences of these lengths."""
        self.sequences += len(lengths)
        self.tokens_forwarded += int(lengths.sum())

    def counts(self) -> dict[str, int]:
        """The counts for the manifest."""
        return {
            "batches_computed": len(self.computed),
            "batches_reused": len(self.reused - self.computed),
            "sequences_forwarded": self.sequences,
            "duplicate_sequences_spared": self.duplicates,
            **({"tokens_asked": self.tokens_asked, "tokens_forwarded": self.tokens_forwarded} if self.tokens_asked else {}),
        }
