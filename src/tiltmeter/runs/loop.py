"""The one loop: every model is loaded once, checked, and asked every benchmark through its family. A cell at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, How, Known, family_of
from tiltmeter.families.kit.seam import Watch
from tiltmeter.models import kind_of, load_any
from tiltmeter.runs.cells import find_stored, obtain
from tiltmeter.runs.known_models import find_card, keep_card
from tiltmeter.runs.options import FamilyOptions, Options
from tiltmeter.storage.timings import timed


def ask_all(
    models: Sequence[str],
    benchmarks: Sequence[Benchmark],
    options: Options,
    told: FamilyOptions,
    watch: Watch | None,
    by_default: bool = False,
) -> Iterator[Answers]:
    """The cells of a run.

    Benchmarks that are there `by_default`, since nobody named any, leave out models that they are not meant for.
    """
    known = check_all(models, benchmarks, options, told)
    taken: set[str] = set()
    for number, name in enumerate(models):
        stored = _stored(name, number, known, benchmarks, options, told, taken, by_default)
        if stored:
            yield from stored
            continue
        with timed("load"):
            model = load_any(name, **options.loading)
            keep_card(model, name, options.loading, options.cache)
        model.name = _unmistakable(model, taken)
        now = [*known[:number], Known(name, model.kind, model), *known[number + 1 :]]
        its = [benchmark for benchmark in benchmarks if not by_default or _is_meant(benchmark, now[number], told)]
        for benchmark in its or benchmarks:
            family_of(benchmark).check(benchmark, now, told[benchmark.family])
        taken.add(model.name)
        known[number] = Known(name, model.kind)
        how = _how(options, known, watch)
        for benchmark in its or benchmarks:
            with timed("ask"):
                answers = obtain(model, benchmark, told[benchmark.family], how)
            yield answers


def _stored(
    name: str,
    number: int,
    known: list[Known],
    benchmarks: Sequence[Benchmark],
    options: Options,
    told: FamilyOptions,
    taken: set[str],
    by_default: bool,
) -> list[Answers]:
    """All that a model answered before; nothing if anything is missing, for then it has to be loaded."""
    with timed("ask"):
        card = find_card(name, options.loading, options.cache)
        if card is None:
            return []
        model = replace(card, name=_unmistakable(card, taken))
        now = [*known[:number], Known(name, card.kind), *known[number + 1 :]]
        its = [benchmark for benchmark in benchmarks if not by_default or _is_meant(benchmark, now[number], told)]
        found = []
        for benchmark in its or benchmarks:
            answers = find_stored(model, benchmark, told[benchmark.family], _how(options, now, None))
            if answers is None:
                return []
            found.append(answers)
    taken.add(model.name)
    known[number] = now[number]
    return found


def _unmistakable(model: Any, taken: set[str]) -> str:
    """A model's name, with some of its weights' hash where another folder has the same name."""
    return f"{model.name}-{model.weights_hash[:8]}" if model.name in taken else str(model.name)


def _how(options: Options, known: Sequence[Known], watch: Watch | None) -> How:
    kinds = frozenset(one.kind for one in known if one.kind)
    return How(options.cache, options.batch_tokens, options.settings.seed, kinds, watch)


def check_all(models: Sequence[str], benchmarks: Sequence[Benchmark], options: Options, told: FamilyOptions) -> list[Known]:
    """All that can be known to be wrong before a model is loaded, and what is known of the models by then."""
    for benchmark in benchmarks:
        family_of(benchmark).check(benchmark, [], told[benchmark.family])
    with timed("load"):
        known = [Known(name, options.kind or _kind(name, options)) for name in models]
    for benchmark in benchmarks:
        family_of(benchmark).check(benchmark, known, told[benchmark.family])
    return known


def _kind(name: str, options: Options) -> str | None:
    """A model's kind, from its card or its configuration; of a hub model known when it is loaded."""
    card = find_card(name, options.loading, options.cache, here=True)
    return card.kind if card else kind_of(name, trust_remote_code=options.trust_remote_code)


def _is_meant(benchmark: Benchmark, known: Known, told: FamilyOptions) -> bool:
    """Whether a model is asked a benchmark that nobody named."""
    family: Any = family_of(benchmark)
    if known.kind not in getattr(family, "BY_DEFAULT", frozenset({"masked", "causal"})):
        return False
    try:
        family.check(benchmark, [known], told[benchmark.family])
    except TiltmeterError:
        return False
    return True
