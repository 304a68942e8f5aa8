"""Checks of generations before a model writes."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.prompts import PROMPT
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.generations.judging import judges_of
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.polarity import FILTERING
from tiltmeter.families.generations.served import check_served
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.models import LanguageModel, ServedModel
from tiltmeter.models.text_generator import check_writer

MOST_SAMPLES = 10_000


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Options) -> None:
    """Raise an error for numbers that mean nothing, judges that cannot be loaded, and models that cannot write."""
    if not 1 <= options.samples <= MOST_SAMPLES:
        raise UsageError(
            f"--samples must be from 1 to {MOST_SAMPLES:,}, not {options.samples}.",
            code="out-of-range", name="samples", value=options.samples,
        )  # fmt: skip
    if options.greedy and options.samples > 1:
        raise UsageError(
            "With --greedy all samples of a prompt are the same text; leave --samples at 1.",
            code="conflicting-options", options=["greedy", "samples"],
        )  # fmt: skip
    if options.polarity is not None and not 0 < options.polarity < 1:
        raise UsageError(
            f"--polarity must be between 0 and 1, not {options.polarity:g}.",
            code="out-of-range", name="polarity", value=options.polarity,
        )  # fmt: skip
    options.sampling.check()
    if not benchmark.asked_items or any(PROMPT not in item.texts for item in benchmark.asked_items):
        raise InputError(
            f"{benchmark.name} has no prompts that a model could continue.",
            code="empty-selection", benchmark=benchmark.name, family="generations",
        )  # fmt: skip
    refuse_incapable(models, benchmark, options)
    judges = judges_of(options)
    if options.polarity is not None and not any(judge.notion in FILTERING for judge in judges):
        raise UsageError(
            f"--polarity needs a judge of {', '.join(FILTERING[:-1])} or {FILTERING[-1]}.",
            code="inapplicable-option", option="--polarity",
        )  # fmt: skip
    for served in (known.model for known in models if isinstance(known.model, ServedModel)):
        check_served(served, options)
    for model in (known.model for known in models if isinstance(known.model, LanguageModel)):
        check_writer(model, options.instruction if options.chat else None)
        refuse_no_room(model, options)


def refuse_no_room(model: LanguageModel, options: Options) -> None:
    """Raise an error if the new tokens leave no room for any prompt."""
    limit = model.tokens.max_length
    if limit is not None and options.new_tokens + 2 > limit:
        raise UsageError(
            f"--new-tokens {options.new_tokens} is too large: the context of {model.name} is {limit} tokens.",
            code="out-of-range", name="new_tokens", value=options.new_tokens, most=limit, model=model.name,
        )  # fmt: skip
