"""Checks of pairs before inference."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import InputError, ModelError, UsageError, require_choice
from tiltmeter.families.kit.detection import detecting, is_variant
from tiltmeter.families.kit.protocol import ModelInfo
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.families.pairs.headline import own_scorers
from tiltmeter.families.pairs.options import Options
from tiltmeter.families.pairs.paired import UNITS
from tiltmeter.models import LanguageModel, ServedModel, require
from tiltmeter.probes import ALIGNMENTS, VIEWS, View, find_view
from tiltmeter.scorers.kit.fault import fault_of

SERVED_VIEWS = ("causal",)
"""Views that a server can answer: those of a text with its first token."""
ALL = "all"
"""The name that stands for every scorer that applies."""
COUNTERPART = {
    "masked": "For a masked model, use pll, which masks each token in turn. ",
    "causal": "For a causal model, use causal, which predicts each token from those before it. ",
}


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: Options) -> None:
    """Raises an error for scorers that fit no model of the run, an unknown alignment, and a benchmark without pairs."""
    check_alignment(options.alignment)
    if not benchmark.asked_items:
        raise InputError(
            f"{benchmark.name} has no items that can be scored.", code="empty-selection", benchmark=benchmark.name
        )
    refuse_incapable(models, benchmark, options)
    kinds = {kind for known in models for kind in (known.kind, *known.beside)}
    for known in models:
        if known.kind:
            wanted = scorers_for(known.kind, options.scorers, known.name, kinds)
            if isinstance(known.model, LanguageModel | ServedModel):
                choose_scorers(known.model, benchmark, wanted)


def provides(benchmark: Benchmark) -> frozenset[str]:
    """Columns that a benchmark provides for measures: the roles of its sentences, and the labels that items have."""
    items = benchmark.asked_items
    roles = {role for item in items for role in item.texts}
    labels = {"target"} if any(item.target for item in items) else set()
    labels |= {"pole"} if any("pole" in item.extra for item in items) else set()
    labels |= set(UNITS) if any("bls_women" in item.extra for item in items) else set()
    return frozenset(roles | labels)


def check_alignment(alignment: str) -> None:
    """Raises an error for an unknown alignment."""
    require_choice("--alignment", alignment, ALIGNMENTS)


def scorers_for(kind: str, names: Sequence[str], model: str, kinds: set[str | None]) -> list[str]:
    """The requested scorers that fit this kind of model. Those that fit another model of the run are skipped."""
    if ALL in names:
        return [ALL]
    views = {name: _view_of(catalog.find("scorers", name)) for name in names}
    foreign = [name for name, view in views.items() if view.kind != kind and view.kind not in kinds]
    fitting = [name for name, view in views.items() if view.kind == kind]
    if foreign or (names and not fitting):
        name = (foreign or list(names))[0]
        raise UsageError(
            f"{name} needs a {views[name].kind} language model, but {model} is {kind}. {COUNTERPART[kind]}"
            "`tiltmeter list scorers` shows which scorers go with which kind.",
            code="wrong-model-kind", scorer=name, model=model, kind=kind,
        )  # fmt: skip
    return fitting


def _view_of(entry: Entry) -> View:
    """The view that a scorer reads; a scorer of others must return scores of sentences made up for this check.

    Raises:
        UsageError: There is no such view, or the scorer fails or returns something else (`broken-package`).
    """
    if catalog.owner("scorers", entry.name) != "tiltmeter":
        place = f"The scorer '{entry.name}' of {catalog.owner('scorers', entry.name)}"
        view = find_view(entry.scorer.view, place)
        if wrong := fault_of(entry.function):
            raise UsageError(f"{place} {wrong}.", code="broken-package", kind="scorer", name=entry.name)
        return view
    return find_view(entry.scorer.view)


def applicable_scorers(model: LanguageModel | ServedModel, benchmark: Benchmark) -> list[str]:
    """The scorers that this kind of model and this benchmark allow."""
    views = {entry.name: view for entry in catalog.entries("scorers") if (view := VIEWS.get(entry.scorer.view))}
    return [
        name
        for name, view in views.items()
        if view.kind == model.kind
        and (view.name in SERVED_VIEWS or not isinstance(model, ServedModel))
        and (benchmark.has_context or not view.needs_context)
        and ("attention" in model.capabilities or not view.attention)
    ]


def default_scorers(model: LanguageModel | ServedModel, benchmark: Benchmark) -> list[str]:
    """The applicable scorers that detected a planted bias on any items, and those of the benchmark's own paper.

    Variants are computed by name only. Where no scorer of this kind was tested, all that apply but variants.
    """
    there = [name for name in applicable_scorers(model, benchmark) if not is_variant(name)]
    wanted = {*detecting(benchmark.family, kind=model.kind), *own_scorers(benchmark.name)}
    return [name for name in there if name in wanted] or there


def choose_scorers(model: LanguageModel | ServedModel, benchmark: Benchmark, names: Sequence[str]) -> list[Entry]:
    """The requested scorers, else the default ones; raises an error for those that do not apply."""
    every = applicable_scorers(model, benchmark) if ALL in names else ()
    own = () if isinstance(model, ServedModel) else benchmark.scorers.get(model.kind)
    wanted = every or names or own or default_scorers(model, benchmark)
    chosen = [catalog.find("scorers", name) for name in dict.fromkeys(wanted)]
    for entry in chosen:
        view = _view_of(entry) if entry.name in names else VIEWS[entry.scorer.view]
        if isinstance(model, ServedModel):
            _refuse_unserved(model, entry)
            continue
        require(model, view.kind, entry.name)
        if view.attention and "attention" not in model.capabilities:
            raise ModelError(
                f"{entry.name} needs attention weights, and {model.name} has two streams of them. Use aul.",
                code="missing-capability", scorer=entry.name, model=model.name,
            )  # fmt: skip
        if view.needs_context and not benchmark.has_context:
            raise UsageError(
                f"{entry.name} needs a context with a BLANK, and {benchmark.name} has none. Use it with stereoset, "
                "or add a context column to your pairs.",
                code="missing-column", scorer=entry.name, benchmark=benchmark.name, column="context",
            )  # fmt: skip
    return chosen


def _refuse_unserved(model: ServedModel, entry: Entry) -> None:
    if entry.scorer.view not in SERVED_VIEWS:
        raise ModelError(
            f"{entry.name} reads a text without its first token, which {model.name}'s server does not allow. Use causal.",
            code="missing-capability", scorer=entry.name, model=model.name,
        )  # fmt: skip
