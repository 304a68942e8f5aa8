"""`ask` and `score`: one model on one benchmark, without a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.execution.options import FamilyOptions
from tiltmeter.families import Answers, AskContext, family_of
from tiltmeter.families.kit.options import changed
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.families.kit.reading import ask_and_read
from tiltmeter.models import AnyModel, usable
from tiltmeter.runs.keywords import translate_ask
from tiltmeter.storage.keywords import accept_old_keywords
from tiltmeter.storage.progress import watch_of
from tiltmeter.storage.typed_values import OptionsObject


@accept_old_keywords(translate_ask)
def ask(
    model: AnyModel | str | Path,
    benchmark: Benchmark | str | Path,
    options: OptionsObject | None = None,
    *,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    seed: int = 0,
    progress: bool = False,
    watch: Watch | None = None,
) -> Answers:
    """Query a model on a benchmark of any family; `estimate` computes measures from the answers.

    Answers are kept in the user cache, or in the folder given as `cache`, so that a second call or one after an
    interruption computes only what is missing.

    Args:
        model: A model, a hub id, a folder, or an embedded name.
        benchmark: A benchmark, its name, or your own file.
        options: Options of the benchmark's family: `PairsOptions`, `SlotsOptions`, `AssociationsOptions`,
            `LabelsOptions`, `GenerationsOptions`, `ChoicesOptions`.
        cache: False, or a folder instead of the user's cache.
        batch_tokens: Tokens in a batch, or auto.
        seed: For everything that is drawn at random.
        progress: Show a bar with the time left, or a line every half minute where there is no terminal.
        watch: Another display of progress: a function of a title and a total that gives a context manager.

    Returns:
        The answers, with the items and a manifest of how they were made.

    Raises:
        ModelError: The model cannot be loaded, or lacks what the benchmark needs.
        InputError: The benchmark's file cannot be read.
        UsageError: A name is unknown, or an option does not apply.

    Example:
        >>> import tiltmeter
        >>> answers = tiltmeter.ask("plumb-mlm", tiltmeter.load_benchmark("plumb-slots", limit=2), cache=False)
        >>> answers.models, len(answers.items)
        (['plumb-mlm'], 2)
    """
    family_options = FamilyOptions.of_objects(options)
    model = usable(model)
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark, offered=family_options.values)
    if benchmark.family not in family_options.of:
        family_of(benchmark)  # says what is wrong with it
        raise UsageError(f"The family '{benchmark.family}' cannot be used.", code="broken-package", family=benchmark.family)
    if options is not None and not isinstance(options, type(family_options[benchmark.family])):
        name = next(iter(changed(options)), type(options).__name__)
        raise UsageError(
            f"'{name}' is not an option of {benchmark.family}, the family of {benchmark.name}.",
            code="unknown-name",
            kind="option",
            name=name,
            family=benchmark.family,
            benchmark=benchmark.name,
        )
    context = AskContext(cache=cache, batch_tokens=batch_tokens, seed=seed, watch=watch_of(watch, progress))
    return ask_and_read(model, benchmark, family_options[benchmark.family], context)


@accept_old_keywords(translate_ask)
def score(  # noqa: PLR0913 (as `ask`)
    model: AnyModel | str | Path,
    benchmark: Benchmark | str | Path,
    scorers: Sequence[str] | str | None = None,
    options: OptionsObject | None = None,
    *,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    seed: int = 0,
    progress: bool = False,
    watch: Watch | None = None,
) -> Answers:
    """Score every sentence of a benchmark of pairs. One model pass serves all scorers that share a view.

    Args:
        model: A model, a hub id, a folder, or an embedded name.
        benchmark: A benchmark of pairs, its name, or your own file.
        scorers: Names of scorers. Default: all that apply to the model.
        options: `PairsOptions`.
        cache: False, or a folder instead of the user's cache.
        batch_tokens: Tokens in a batch, or auto.
        seed: Seed of all random choices.
        progress: Show a bar, as in `ask`.
        watch: Another display of progress, as in `ask`.

    Returns:
        The scores: `.to_pandas()` gives a row per item, role and scorer, `.save()` writes a run folder.

    Raises:
        ModelError: The model cannot be loaded, or is of another kind than a scorer needs.
        UsageError: A scorer is unknown, or the benchmark is not one of pairs.

    Example:
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=2), "sss", cache=False)
        >>> len(scores.to_pandas())
        6
    """
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers or ())
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    kind: Any = family_of(benchmark).Options
    if not any(field.name == "scorers" for field in fields(kind)):
        raise UsageError(
            f"{benchmark.name} belongs to {benchmark.family}, which has no scorers; use `ask`.",
            code="inapplicable-option",
            function="score",
            family=benchmark.family,
            benchmark=benchmark.name,
        )
    if names:
        chosen: Any = options if options is not None else kind()
        options = replace(chosen, scorers=names) if isinstance(chosen, kind) else options
    display = watch_of(watch, progress)
    return ask(model, benchmark, options, cache=cache, batch_tokens=batch_tokens, seed=seed, watch=display)
