"""What a probe did, and how it tells that it comes forward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Advance = Callable[[float], None]


@dataclass
class Work:
    """What a probe did: batches run now, batches found in the cache, sequences forwarded and spared."""

    computed: set[str] = field(default_factory=set)
    reused: set[str] = field(default_factory=set)
    sequences: int = 0
    duplicates: int = 0

    def counts(self) -> dict[str, int]:
        """For the manifest."""
        return {
            "batches_computed": len(self.computed),
            "batches_reused": len(self.reused - self.computed),
            "sequences_forwarded": self.sequences,
            "duplicate_sequences_spared": self.duplicates,
        }
