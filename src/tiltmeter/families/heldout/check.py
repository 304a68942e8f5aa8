"""Checks of held-out text before inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import InputError
from tiltmeter.families.heldout.annotations import COLUMNS as ANNOTATIONS
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.models import LanguageModel, require

READ = ("log_likelihood", "hits", "length")


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Any) -> None:
    """Raises an error for a text without lines, and for models that predict no words."""
    if not benchmark.asked_items:
        raise InputError(f"{benchmark.name} has no line of text.", code="empty-file", benchmark=benchmark.name)
    refuse_incapable(models, benchmark, options)
    for model in (known.model for known in models if isinstance(known.model, LanguageModel)):
        require(model, model.kind, "Predicting text")


def provides(benchmark: Benchmark) -> frozenset[str]:
    """Columns that a benchmark provides for measures: log-likelihoods, and annotations if its lines have them."""
    has = any("harmful" in item.extra for item in benchmark.asked_items)
    return frozenset((*READ, *ANNOTATIONS)) if has else frozenset(READ)
