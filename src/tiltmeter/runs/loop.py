"""The one loop: every model is loaded once, checked, and asked every benchmark through its family. A cell at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, How, Known, family_of
from tiltmeter.families.kit.seam import Watch
from tiltmeter.models import kind_of, load_any
from tiltmeter.runs.cells import obtain
from tiltmeter.runs.options import FamilyOptions, Options


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
        model = load_any(name, **options.loading)
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
        now = [*known[:number], Known(name, model.kind, model), *known[number + 1 :]]
        its = [benchmark for benchmark in benchmarks if not by_default or _is_meant(benchmark, now[number], told)]
        for benchmark in its or benchmarks:
            family_of(benchmark).check(benchmark, now, told[benchmark.family])
        taken.add(model.name)
        known[number] = Known(name, model.kind)
        kinds = frozenset(one.kind for one in known if one.kind)
        how = How(options.cache, options.batch_tokens, options.settings.seed, kinds, watch)
        for benchmark in its or benchmarks:
            yield obtain(model, benchmark, told[benchmark.family], how)


def check_all(models: Sequence[str], benchmarks: Sequence[Benchmark], options: Options, told: FamilyOptions) -> list[Known]:
    """All that can be known to be wrong before a model is loaded, and what is known of the models by then."""
    for benchmark in benchmarks:
        family_of(benchmark).check(benchmark, [], told[benchmark.family])
    known = [
        Known(name, options.kind or kind_of(name, trust_remote_code=options.trust_remote_code)) for name in models
    ]  # of a hub model known when it is loaded
    for benchmark in benchmarks:
        family_of(benchmark).check(benchmark, known, told[benchmark.family])
    return known


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
