"""What can be known to be wrong about filling slots before a model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark, SlotBenchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.refusals import refuse_vectors
from tiltmeter.families.kit.seam import Known
from tiltmeter.families.slots.options import Options
from tiltmeter.models import LanguageModel, require


def check(benchmark: Benchmark, models: Sequence[Known], options: Options) -> None:
    """Refuses a k that no rank can be normalised by, terms of fewer than two groups, and models that fill nothing."""
    if options.top_k < 2:
        raise TiltmeterError(f"--top-k must be at least 2, not {options.top_k}.")
    if not benchmark.asked_items or not isinstance(benchmark, SlotBenchmark):
        raise TiltmeterError(f"{benchmark.name} has no sentences with a mask.")
    if len(benchmark.terms) < 2:
        raise TiltmeterError(f"{benchmark.name} has terms of {len(benchmark.terms)} group(s); at least 2 are needed.")
    refuse_vectors(models, benchmark)
    for model in (known.model for known in models if isinstance(known.model, LanguageModel)):
        require(model, model.kind, "Filling slots")  # a masked model needs a mask, a causal one a beginning
        if model.kind == "masked" and options.top_k > model.vocabulary:
            raise TiltmeterError(f"--top-k is {options.top_k:,}, and {model.name} predicts {model.vocabulary:,} tokens.")
