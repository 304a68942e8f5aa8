"""Options of slots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiltmeter.families.kit.options import named, option

TOP_K = 100
"""As in the paper."""


@named
@dataclass(frozen=True)
class SlotsOptions:
    """Which words may fill a mask, and among how many predictions a word counts as a match."""

    terms: Path | None = option(None, "Words of each group that fill slots (JSONL, CSV, JSON).")
    top_k: int = option(TOP_K, "Predictions among which a term counts as a match.")


Options = SlotsOptions
