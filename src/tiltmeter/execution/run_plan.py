"""The plan of `tiltmeter run`: every model × every benchmark, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.experiment_file import Asked, Experiment
from tiltmeter.execution.experiment_models import ExperimentModel
from tiltmeter.execution.options import FamilyOptions, Options
from tiltmeter.execution.plan import Plan, PlannedCell, cells_of
from tiltmeter.families import ModelInfo, family_of
from tiltmeter.models import ModelIdentity, identify, kind_of, load_any, shown_name
from tiltmeter.storage.timings import timed

OF_ESTIMATES = ("by", "settings", "command", "overwrite")
"""Options that decide nothing about cells, or have a place of their own."""


def plan_run(
    names: Sequence[Any],
    benchmarks: Sequence[Benchmark],
    options: Options,
    family_options: FamilyOptions,
    *,
    is_default: bool,
) -> Plan:
    """Plan the cells of a run.

    Args:
        names: models by name or folder, or in memory.
        benchmarks: as they were loaded.
        options: of the run.
        family_options: of all families.
        is_default: True if the user named no benchmark; models without a default benchmark are then left out.
    """
    for benchmark in benchmarks:  # what is wrong whatever the models, before these are looked for
        family_of(benchmark).check(benchmark, [], family_options[benchmark.family])
    with timed("load"):
        models = _named(names, options)
        trusts = options.trust_remote_code
        kinds = {
            model.name: model.kind or options.kind or kind_of(model.source, trust_remote_code=trusts) for model in models
        }
    for benchmark in benchmarks:
        infos = [ModelInfo(model.source, kinds[model.name], model.in_memory) for model in models]
        family_of(benchmark).check(benchmark, infos, family_options[benchmark.family])
    asks = tuple(Asked(benchmark.source, benchmark.name, options=family_options.values) for benchmark in benchmarks)
    experiment = Experiment(
        path=Path("run"),
        title="run",
        output=Path(),
        storage="",
        shared=False,
        models=tuple(models),
        asks=asks,
        measures=(),
        by=tuple(options.by),
        options={one.name: getattr(options, one.name) for one in fields(Options) if one.name not in OF_ESTIMATES},
        settings=options.settings,
    )
    cells = [cell for number, benchmark in enumerate(benchmarks) for cell in cells_of(experiment, number, benchmark)]
    if is_default:
        cells = _meant(cells, dict(enumerate(benchmarks)), kinds, family_options)
    ordered = sorted(cells, key=lambda cell: list(kinds).index(cell.model))  # model by model
    loaded = {number: (benchmark, family_options[benchmark.family]) for number, benchmark in enumerate(benchmarks)}
    return Plan(experiment, tuple(ordered), loaded, kinds)


def _named(names: Sequence[Any], options: Options) -> list[ExperimentModel]:
    """Models with unique names: two models of one name get the beginning of their weights' digest."""
    models: list[ExperimentModel] = []
    for source in names:
        model = _planned(source)
        if any(other.name == model.name for other in models):
            model = replace(model, name=f"{model.name}-{_identity(source, options).model[:8]}")
        models.append(model)
    return models


def _planned(source: Any) -> ExperimentModel:
    if isinstance(source, str):
        return ExperimentModel(shown_name(source), source)
    return ExperimentModel(source.name, source.name, source.kind, in_memory=source)


def _identity(source: Any, options: Options) -> ModelIdentity:
    if not isinstance(source, str):
        return cast(ModelIdentity, source.identity)
    return identify(source, options.loading) or load_any(source, **options.loading).identity


def _meant(
    cells: Sequence[PlannedCell],
    benchmarks: Mapping[int, Benchmark],
    kinds: Mapping[str, str | None],
    family_options: FamilyOptions,
) -> list[PlannedCell]:
    """The cells without those that a benchmark is not meant for, unless a model would have none."""
    kept: list[PlannedCell] = []
    for model, kind in kinds.items():
        mine = [cell for cell in cells if cell.model == model]
        some = [
            cell for cell in mine if kind is None or _is_meant(benchmarks[cell.ask], ModelInfo(model, kind), family_options)
        ]
        kept += [replace(cell, is_default=True) for cell in some] or mine
    return kept


def _is_meant(benchmark: Benchmark, model: ModelInfo, family_options: FamilyOptions) -> bool:
    """Return True if a benchmark is a default for a model."""
    family = family_of(benchmark)
    if model.kind not in family.DEFAULT_KINDS:
        return False
    try:
        family.check(benchmark, [model], family_options[benchmark.family])
    except TiltmeterError:
        return False
    return True
