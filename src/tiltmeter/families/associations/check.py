"""Checks of association tests before inference."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import AssociationBenchmark, Benchmark
from tiltmeter.benchmarks.kit.word_sets import WordFile
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.associations.corpus import check_corpus, choose
from tiltmeter.families.associations.options import Options
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable

NEEDS = frozenset({"embeddings"})
LOG_PROBABILITIES = frozenset({"prompt_logprobs"})
OF_KIND = {"ceat": NEEDS | {"tokens"}, "ilps": LOG_PROBABILITIES, "sentences": LOG_PROBABILITIES}


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Options) -> None:
    """Raises an error for unknown tests, domains and words, for CEAT without text, and for models that cannot answer."""
    if not isinstance(benchmark, AssociationBenchmark):
        raise InputError(f"{benchmark.name} has no association tests.", code="empty-selection", benchmark=benchmark.name)
    options.check()
    if benchmark.kind == "ceat":
        check_corpus(options)
        choose(benchmark, options.tests)
    elif benchmark.kind == "ilps":
        benchmark.select_groups(options.tests)
        WordFile(options.words).list_contrasts(options.attributes)
    elif benchmark.kind == "sentences":
        _refuse_causal(benchmark, models)
    else:
        benchmark.select(options.tests)
    refuse_incapable(models, benchmark, options)


def needs(options: Options, benchmark: AssociationBenchmark) -> frozenset[str]:
    """Returns the capabilities that tests of this kind need: CEAT words in context, ILPS log-probabilities."""
    return OF_KIND.get(benchmark.kind, NEEDS)


def _refuse_causal(benchmark: Benchmark, models: Sequence[ModelInfo]) -> None:
    for model in models:
        if model.kind == "causal":
            message = f"{benchmark.name} masks words, and {model.name} is a causal model. Use ilps, which reads both kinds."
            raise UsageError(message, code="wrong-model-kind", benchmark=benchmark.name, model=model.name, kind="masked")
