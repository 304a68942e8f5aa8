"""Checks of slots before inference."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark, SlotBenchmark
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.families.slots.options import Options
from tiltmeter.models import LanguageModel, require


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Options) -> None:
    """Raises an error for a k that is too small or too large, terms of fewer than two groups, and unsuitable models."""
    if options.top_k < 2:
        raise UsageError(
            f"--top-k must be at least 2, not {options.top_k}.",
            code="out-of-range", option="top_k", value=options.top_k, low=2,
        )  # fmt: skip
    if not benchmark.asked_items or not isinstance(benchmark, SlotBenchmark):
        raise InputError(f"{benchmark.name} has no sentences with a mask.", code="empty-selection", benchmark=benchmark.name)
    if len(benchmark.terms) < 2:
        raise InputError(
            f"{benchmark.name} has terms of {len(benchmark.terms)} group(s); at least 2 are needed.",
            code="too-few", benchmark=benchmark.name, least=2, groups=len(benchmark.terms),
        )  # fmt: skip
    refuse_incapable(models, benchmark, options)
    for model in (known.model for known in models if isinstance(known.model, LanguageModel)):
        require(model, model.kind, "Filling slots")  # a masked model needs a mask, a causal one a beginning
        if model.kind == "masked" and options.top_k > model.vocabulary:
            raise UsageError(
                f"--top-k must be at most {model.vocabulary:,} (the tokens of {model.name}), not {options.top_k:,}.",
                code="out-of-range", option="top_k", value=options.top_k, high=model.vocabulary, model=model.name,
            )  # fmt: skip
