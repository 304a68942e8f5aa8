"""`ask` and `score`: one model on one benchmark, without a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, How, family_of
from tiltmeter.families.kit.reading import ask_and_read
from tiltmeter.families.kit.seam import Watch
from tiltmeter.models import AnyModel, usable
from tiltmeter.runs.options import FamilyOptions


def ask(
    model: AnyModel | str | Path,
    benchmark: Benchmark | str | Path,
    *,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    seed: int = 0,
    watch: Watch | None = None,
    **options: Any,
) -> Answers:
    """What a model answers to a benchmark of any family; `estimate` makes measures of it.

    `options` are those of the benchmark's family (`tiltmeter run --help` lists them): `scorers` of pairs, `top_k` of slots,
    `tests` and `corpus` of association tests. What is asked is kept in the user cache, or in the folder given as `cache`,
    so that a second call or one after an interruption computes only what is missing.
    """
    told = FamilyOptions.read(options)
    model = usable(model)
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark, offered=told.given)
    if benchmark.family not in told.of:
        family_of(benchmark)  # says what is wrong with it
        raise TiltmeterError(f"The family '{benchmark.family}' cannot be used.")
    foreign = [name for name in told.given if not hasattr(told[benchmark.family], name)]
    if foreign:
        raise TiltmeterError(f"'{foreign[0]}' is no option of {benchmark.family}, which {benchmark.name} is one of.")
    how = How(cache=cache, batch_tokens=batch_tokens, seed=seed, watch=watch)
    return ask_and_read(model, benchmark, told[benchmark.family], how)


def score(
    model: AnyModel | str | Path,
    benchmark: Benchmark | str | Path,
    scorers: Sequence[str] | str | None = None,
    **options: Any,
) -> Answers:
    """Scores every sentence of a benchmark of pairs by the scorers named, or by all that apply: `.to_pandas()`, `.save()`.

    One shared model pass serves all scorers. The other options are those of `ask`.
    """
    names = [scorers] if isinstance(scorers, str) else scorers
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    if not any(field.name == "scorers" for field in fields(family_of(benchmark).Options)):
        raise TiltmeterError(f"{benchmark.name} is a benchmark of {benchmark.family}, which has no scorers; use `ask`.")
    return ask(model, benchmark, scorers=tuple(names) if names else None, **options)
