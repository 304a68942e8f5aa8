"""Checks of labels before a model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark, LabelledBenchmark
from tiltmeter.errors import TiltmeterError
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
    """Raises an error for options that make no sense, texts that nothing can be learned from, and unsuitable models."""
    if not isinstance(benchmark, LabelledBenchmark) or not benchmark.asked_items:
        raise TiltmeterError(f"{benchmark.name} has no labelled texts.")
    _check_options(options)
    refuse_incapable(models, benchmark, options)
    for known in models:
        if isinstance(known.model, Classifier):
            toxic_columns(known.model, options.toxic_labels)
    trained = [known for known in models if not isinstance(known.model, ServedModel)]
    if any(known.kind in ("masked", "causal") for known in trained):
        check_training(benchmark.training, benchmark.name)


def _check_options(options: Options) -> None:
    wrong = {
        f"--seeds must be at least 1, not {options.seeds}": options.seeds < 1,
        f"--max-length must be at least {SHORTEST}, not {options.max_length}": options.max_length < SHORTEST,
        "--epochs must be positive": options.epochs is not None and not options.epochs > 0,
        "--rate must be positive": options.rate is not None and not options.rate > 0,
        "--swaps and --attribution-texts must not be negative": min(options.swaps, options.explained) < 0,
    }
    for what, is_so in wrong.items():
        if is_so:
            raise TiltmeterError(f"{what}.")
    choose(options, "hate", 0)
    swaps_of(options.group_terms)
