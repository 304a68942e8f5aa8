"""Counts of a probe's work, and the function that reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Advance = Callable[[float], None]


@dataclass
class Work:
    """Counts of a probe's work: batches run now, batches found in the cache, sequences forwarded, duplicates avoided."""

    computed: set[str] = field(default_factory=set)
    reused: set[str] = field(default_factory=set)
    sequences: int = 0
    duplicates: int = 0

    def counts(self) -> dict[str, int]:
        """The counts for the manifest."""
        return {
            "batches_computed": len(self.computed),
            "batches_reused": len(self.reused - self.computed),
            "sequences_forwarded": self.sequences,
            "duplicate_sequences_spared": self.duplicates,
        }
