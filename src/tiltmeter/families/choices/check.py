"""Checks before a model answers questions with choices."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark, category_key
from tiltmeter.errors import InputError, ModelError, UsageError, require_choice, require_known
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.families.choices.prompts import find_prompt
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.models import ChoiceHead, LanguageModel, ServedModel, require

PROTOCOLS = {
    "letters": "causal", "answers": "causal", "answers_mean": "causal", "generated": "causal",
    "masked": "masked", "masked_mean": "masked", "choice_head": "choice_head",
}  # fmt: skip
"""Each way to read an answer, and the kind of model that it is for."""
NEEDED = {"letters": "top_logprobs", "answers": "prompt_logprobs", "answers_mean": "prompt_logprobs", "generated": "text"}
"""The capability that a protocol for causal models needs; others need a kind of model."""
DEFAULTS = {"causal": ("letters",), "masked": ("masked",), "choice_head": ("choice_head",)}
ORDERS = ("all", "given")


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: ChoicesOptions) -> None:
    """Raise an error for unknown protocols and prompts, protocols that fit no model of the run, and models that fit none."""
    if not isinstance(benchmark, ChoiceBenchmark):
        raise InputError(
            f"{benchmark.name} has no questions with choices.",
            code="empty-selection", benchmark=benchmark.name, family="choices",
        )  # fmt: skip
    require_known("protocol", options.protocols, PROTOCOLS)
    require_choice("--orders", options.orders, ORDERS)
    if options.answer_tokens < 1:
        raise UsageError(
            f"--answer-tokens must be at least 1, not {options.answer_tokens}.",
            code="out-of-range", name="answer_tokens", value=options.answer_tokens,
        )  # fmt: skip
    find_prompt(options.prompt, benchmark.language)
    refuse_incapable(models, benchmark, options)
    kinds = {kind for model in models for kind in (model.kind, *model.beside)}
    for model in models:
        if model.kind:
            _check_model(model, options, kinds)
        if isinstance(model.model, ChoiceHead):
            _check_head(model.model, benchmark, options)


def _check_model(model: ModelInfo, options: ChoicesOptions, kinds: set[str | None]) -> None:
    """Raise an error for protocols that are for no model of the run, and for a model that none of them is for."""
    if isinstance(model.model, ServedModel):
        _check_served(model.model, options)
        return
    fitting = protocols_of(str(model.kind), options)
    foreign = [name for name in options.protocols if PROTOCOLS[name] not in kinds]
    if foreign or not fitting:
        name = next(iter(foreign or options.protocols), "this family")
        ours = [name for name, kind in PROTOCOLS.items() if kind == model.kind]
        raise ModelError(
            f"{name} needs a {PROTOCOLS.get(name, 'masked or causal')} model, but {model.name} is {model.kind}. "
            + (f"Protocols for it: {', '.join(ours)}." if ours else f"Run {model.name} without questions with choices."),
            code="wrong-model-kind", model=model.name, kind=model.kind, protocol=name,
        )  # fmt: skip
    if isinstance(model.model, LanguageModel):
        require(model.model, model.model.kind, fitting[0])  # a masked model needs a mask, a causal one a beginning
        if options.chat_prompt and "chat" not in model.model.capabilities:
            raise ModelError(
                f"--chat-prompt needs a chat template, and {model.name} has none. Run it without.",
                code="missing-capability", model=model.name, capability="chat template",
            )  # fmt: skip


def _check_head(model: ChoiceHead, benchmark: Benchmark, options: ChoicesOptions) -> None:
    """Refuse questions of categories that a head learned from, and a chat template."""
    learned = {category_key(name) for name in model.learned_categories}
    asked = dict.fromkeys(item.bias_type for item in benchmark.asked_items)
    if overlap := [name for name in asked if category_key(name) in learned]:
        others = [name for name in asked if name not in overlap]
        raise ModelError(
            f"{model.name} learned the answers to questions of {', '.join(overlap)}. "
            + (f"Use --category for what it did not learn: {', '.join(others)}." if others else "Use other categories."),
            code="trained-on-test", model=model.name, benchmark=benchmark.name, categories=overlap,
        )  # fmt: skip
    if options.chat_prompt:
        raise ModelError(
            f"--chat-prompt needs a chat template, and {model.name} has a multiple-choice head. Run it without.",
            code="missing-capability", model=model.name, capability="chat template",
        )  # fmt: skip


def _check_served(model: ServedModel, options: ChoicesOptions) -> None:
    if options.chat_prompt and "chat" not in model.capabilities:
        raise ModelError(
            f"--chat-prompt needs a chat, and {model.name}'s server answers none. Run it without.",
            code="missing-capability", model=model.name, capability="chat",
        )  # fmt: skip
    if not served_protocols(model, options):
        named = ", ".join(options.protocols)
        raise ModelError(
            f"{named}: {model.name} reads from left to right: use letters, answers or generated.",
            code="missing-capability", protocols=list(options.protocols), model=model.name,
        )  # fmt: skip


def served_protocols(model: ServedModel, options: ChoicesOptions) -> tuple[str, ...]:
    """Choose the protocols for a served model: `generated`, if it gives no log-probabilities."""
    default = "letters" if "top_logprobs" in model.capabilities else "generated"
    return protocols_of("causal", options) if options.protocols else (default,)


def needs(options: ChoicesOptions) -> frozenset[str]:
    """Return the capabilities that the protocols need; without a name, any way to choose will do."""
    found = {NEEDED[name] for name in options.protocols if name in NEEDED}
    return frozenset(found or {"answers"})


def protocols_of(kind: str, options: ChoicesOptions) -> tuple[str, ...]:
    """Choose the protocols for a kind of model."""
    named = options.protocols or DEFAULTS.get(kind, ())
    return tuple(name for name in dict.fromkeys(named) if PROTOCOLS.get(name) == kind)
