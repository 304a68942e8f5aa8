"""Builders: labelled corpora become benchmarks, and texts their counterfactuals, on the user's own machine."""

from __future__ import annotations

from tiltmeter.builders.aligned import Aligned, first_names, gender_terms, read_aligned
from tiltmeter.builders.counterfactual import counterfactuals, make_swaps
from tiltmeter.builders.sexism import Built, Dropped, Stage, build_sexism
from tiltmeter.builders.swapping import Swap

__all__ = [
    "Aligned", "Built", "Dropped", "Stage", "Swap", "build_sexism", "counterfactuals", "first_names", "gender_terms",
    "make_swaps", "read_aligned",
]  # fmt: skip
