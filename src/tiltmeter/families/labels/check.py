"""Checks of labels before a model is trained or run."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark, LabelledBenchmark
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.kit.options import flag_of
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.families.labels.counterfactuals import swaps_of
from tiltmeter.families.labels.label_mapping import toxic_columns
from tiltmeter.families.labels.options import Options
from tiltmeter.families.labels.recipes import choose
from tiltmeter.families.labels.training import check_training
from tiltmeter.models import Classifier, ServedModel

SHORTEST = 4


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Options) -> None:
    """Raise an error for options that make no sense, texts that nothing can be learned from, and unsuitable models."""
    if not isinstance(benchmark, LabelledBenchmark) or not benchmark.asked_items:
        raise InputError(
            f"{benchmark.name} has no labelled texts.", code="empty-selection", benchmark=benchmark.name, family="labels"
        )
    _check_options(options)
    refuse_incapable(models, benchmark, options)
    for known in models:
        if isinstance(known.model, Classifier):
            toxic_columns(known.model, options.toxic_labels)
    trained = [known for known in models if not isinstance(known.model, ServedModel)]
    if any(known.kind in ("masked", "causal") for known in trained):
        check_training(benchmark.training, benchmark.name)


def _check_options(options: Options) -> None:
    allowed = {
        "seeds": ("at least 1", options.seeds >= 1),
        "max_length": (f"at least {SHORTEST}", options.max_length >= SHORTEST),
        "epochs": ("positive", options.epochs is None or options.epochs > 0),
        "rate": ("positive", options.rate is None or options.rate > 0),
        "swaps": ("at least 0", options.swaps >= 0),
        "explained": ("at least 0", options.explained >= 0),
    }
    for name, (bound, is_allowed) in allowed.items():
        if not is_allowed:
            flag, value = flag_of(Options, name), getattr(options, name)
            raise UsageError(f"{flag} must be {bound}, not {value}.", code="out-of-range", name=name, value=value)
    choose(options, "hate", 0)
    swaps_of(options.group_terms)
