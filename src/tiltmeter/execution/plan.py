"""A plan: every model × every benchmark that it answers, each cell with a unique name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.selection import only_domains, some_of_each_group
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.execution.experiment_file import Asked, Experiment
from tiltmeter.execution.key import Question, digest_items, digest_question, make_question
from tiltmeter.execution.options import FamilyOptions
from tiltmeter.families import family_of


@dataclass(frozen=True)
class PlannedCell:
    """One model and one benchmark. `name` is what its state is stored under; `ask` is the place of its question.

    `is_default`: the benchmark was not named by the user, so models that cannot answer it are left out.
    """

    name: str
    model: str
    benchmark: str
    ask: int
    items: int = 0
    error: str | None = None
    family: str = ""
    data: str = ""
    """Digest of all items and their grouping, without the name of the benchmark."""
    question: Question | None = field(default=None, compare=False)
    is_default: bool = False


@dataclass(frozen=True)
class Plan:
    """All cells of an experiment, in the order of its file.

    `loaded`: benchmarks and options of their families that stay in memory, by the place of their question. `kinds`: what is
    known of the models' kinds, where options that suit none of them are refused.
    """

    experiment: Experiment
    cells: tuple[PlannedCell, ...]
    loaded: Mapping[int, tuple[Benchmark, Any]] = field(default_factory=dict)
    kinds: Mapping[str, str | None] | None = None

    @cached_property
    def _by_model(self) -> dict[str, list[PlannedCell]]:
        cells: dict[str, list[PlannedCell]] = {}
        for cell in self.cells:
            cells.setdefault(cell.model, []).append(cell)
        return cells

    def of(self, model: str) -> list[PlannedCell]:
        """The cells of one model."""
        return self._by_model.get(model, [])

    @property
    def models(self) -> list[str]:
        """The models that have cells."""
        return list(self._by_model)


def plan_cells(experiment: Experiment) -> Plan:
    """List the cells of an experiment. A benchmark that cannot be read keeps its cells, with the reason."""
    cells: list[PlannedCell] = []
    for number, ask in enumerate(experiment.asks):
        try:
            cells += cells_of(experiment, number, load_asked(experiment, ask))
        except TiltmeterError as problem:
            name = ask.name or ask.benchmark.rsplit("/", 1)[-1]
            cells += [
                PlannedCell(cell_name(model, name), model, name, number, error=str(problem))
                for model in experiment.models_of(ask)
            ]
    refuse_repeated(experiment, cells)
    return Plan(experiment, tuple(cells))


def cells_of(experiment: Experiment, number: int, benchmark: Benchmark) -> Iterator[PlannedCell]:
    """The cells of one question."""
    ask, data = experiment.asks[number], digest_items(benchmark)
    plain = PlannedCell("", "", benchmark.name, number, len(benchmark.asked_items), family=benchmark.family, data=data)
    for model in experiment.models_of(ask):
        cell = replace(plain, name=cell_name(model, benchmark.name), model=model)
        if not experiment.storage:  # no ledger on disk: nobody else reads its states
            yield cell
            continue
        question = question_of(experiment, cell)
        yield replace(cell, name=f"{cell.name}/{digest_question(question)}", question=question)


def question_of(experiment: Experiment, cell: PlannedCell) -> dict[str, Any]:
    """The question of a cell, as far as it is known on this machine."""
    run, options = experiment.run_options(), FamilyOptions.read(experiment.asks[cell.ask].options)[cell.family]
    return make_question(experiment.model(cell.model), cell.family, cell.data, options, run)


def load_asked(experiment: Experiment, ask: Asked) -> Benchmark:
    """The benchmark of one question, under the name that the experiment gives it."""
    options = experiment.run_options()
    built_in = ask.benchmark.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
    benchmark = load_benchmark(
        ask.benchmark,
        data_dir=options.data_dir,
        columns=None if built_in else options.columns,
        encoding=None if built_in else options.encoding,
        groups=options.groups,
        offered={"encoding": options.encoding, **FamilyOptions.read(ask.options).values},
    )
    benchmark = only_domains(benchmark, ask.domains) if ask.domains else benchmark
    benchmark = some_of_each_group(benchmark, ask.per_group, options.settings.seed) if ask.per_group else benchmark
    benchmark = benchmark.limit(ask.limit or options.limit)
    return replace(benchmark, name=ask.name) if ask.name else benchmark


def read_asked(experiment: Experiment, cell: PlannedCell) -> tuple[Benchmark, Any]:
    """The benchmark of a cell, and the options of its family."""
    ask = experiment.asks[cell.ask]
    benchmark = load_asked(experiment, ask)
    return benchmark, FamilyOptions.read(ask.options)[benchmark.family]


def check_asked(experiment: Experiment, cell: PlannedCell) -> tuple[Benchmark, Any]:
    """Load a benchmark and options as `read_asked` does, and raise errors that do not depend on the model."""
    benchmark, options = read_asked(experiment, cell)
    family_of(benchmark).check(benchmark, [], options)
    return benchmark, options


def cell_name(model: str, benchmark: str) -> str:
    """A name for a file: readable, and different for different cells whatever characters they are made of."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{model}--{benchmark}").strip("-.")[:80]
    digest = hashlib.sha256(f"{len(model)}:{model}{benchmark}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:8]}"


def refuse_repeated(experiment: Experiment, cells: Sequence[PlannedCell]) -> None:
    """Raise an error if one model has two cells of one name."""
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        if (cell.model, cell.benchmark) in seen:
            raise InputError(
                f"{experiment.path}: '{cell.benchmark}' is planned twice for {cell.model}. Give one of the [[ask]] tables "
                'another name: name = "…".',
                code="duplicate-name",
                file=experiment.path,
                kind="benchmark",
                name=cell.benchmark,
                model=cell.model,
            )
        seen.add((cell.model, cell.benchmark))
