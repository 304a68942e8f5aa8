"""CEAT with one label for each protected group, as Table 4 of Cao et al. (2022) prints them; `ceat` has several words."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.benchmarks.ceat import CITATION, ceat
from tiltmeter.benchmarks.kit.association import AssociationBenchmark

__all__ = ["CITATION", "ceat_labels"]


def ceat_labels(*, data_dir: str | Path | None = None) -> AssociationBenchmark:
    """The groups of Table 4, one label each. With one word the random-effects model has nothing to estimate (τ² = 0)."""
    return ceat(data_dir=data_dir, labels=True)
