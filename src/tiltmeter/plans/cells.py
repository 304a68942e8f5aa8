"""The cells of a study: every model × every benchmark that it is asked, each with a name of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.items import items_text
from tiltmeter.benchmarks.kit.selecting import only_domains, some_of_each_group
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import family_of
from tiltmeter.plans.file import Asked, StudyFile
from tiltmeter.runs.options import FamilyOptions
from tiltmeter.storage.memory import give_back


@dataclass(frozen=True)
class PlannedCell:
    """One model and one benchmark. `name` is what its state is stored under; `ask` is the place of its question."""

    name: str
    model: str
    benchmark: str
    ask: int
    items: int = 0
    error: str | None = None
    family: str = ""
    data: str = ""
    """Digest of everything that is asked and of how it is grouped; not of the name."""


@dataclass(frozen=True)
class Plan:
    """All cells of a study, in the order of its file."""

    study: StudyFile
    cells: tuple[PlannedCell, ...]

    @cached_property
    def _by_model(self) -> dict[str, list[PlannedCell]]:
        found: dict[str, list[PlannedCell]] = {}
        for cell in self.cells:
            found.setdefault(cell.model, []).append(cell)
        return found

    def of(self, model: str) -> list[PlannedCell]:
        """The cells of one model."""
        return self._by_model.get(model, [])

    @property
    def models(self) -> list[str]:
        """The models that have cells."""
        return list(self._by_model)


def plan(study: StudyFile) -> Plan:
    """The cells. A benchmark that cannot be read keeps its cells, with the reason: the others go on."""
    cells = []
    for number, ask in enumerate(study.asks):
        try:
            benchmark = load_asked(study, ask)
            name, items = benchmark.name, len(benchmark.items)
            known: dict[str, str] = {"family": benchmark.family, "data": digest_of(benchmark)}
        except TiltmeterError as problem:
            name, items, known = ask.name or ask.benchmark.rsplit("/", 1)[-1], 0, {"error": str(problem)}
        for model in ask.models or tuple(model.name for model in study.models):
            cells.append(PlannedCell(cell_name(model, name), model, name, number, items, **known))
    _refuse_twins(study, cells)
    give_back()  # of the benchmarks nothing but digests is kept
    return Plan(study, tuple(cells))


def load_asked(study: StudyFile, ask: Asked) -> Benchmark:
    """The benchmark of one question, under the name that the study gives it."""
    options = study.run_options()
    built_in = ask.benchmark.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
    benchmark = load_benchmark(
        ask.benchmark,
        data_dir=options.data_dir,
        columns=None if built_in else options.columns,
        encoding=None if built_in else options.encoding,
        offered=FamilyOptions.read(ask.options).given,
    )
    benchmark = only_domains(benchmark, ask.domains) if ask.domains else benchmark
    benchmark = some_of_each_group(benchmark, ask.per_group, options.settings.seed) if ask.per_group else benchmark
    benchmark = benchmark.limit(ask.limit or options.limit)
    return replace(benchmark, name=ask.name) if ask.name else benchmark


def question_of(study: StudyFile, cell: PlannedCell) -> tuple[Benchmark, Any]:
    """The benchmark, and the options of its family. Raises what is wrong whatever the model: a judge that is not here."""
    ask = study.asks[cell.ask]
    benchmark = load_asked(study, ask)
    options = FamilyOptions.read(ask.options)[benchmark.family]
    family_of(benchmark).check(benchmark, [], options)
    return benchmark, options


def digest_of(benchmark: Benchmark) -> str:
    """What names the items, whatever the benchmark is called and wherever its file lies."""
    digest = hashlib.sha256(f"{benchmark.data_hash} ".encode())
    for lines in items_text(benchmark, without=["benchmark"]):
        digest.update(lines.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def cell_name(model: str, benchmark: str) -> str:
    """A name for a file: readable, and different for different cells whatever characters they are made of."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{model}--{benchmark}").strip("-.")[:80]
    digest = hashlib.sha256(f"{len(model)}:{model}{benchmark}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:8]}"


def _refuse_twins(study: StudyFile, cells: Sequence[PlannedCell]) -> None:
    for cell in _repeated(cells):
        raise TiltmeterError(
            f"{study.path}: {cell.model} is asked '{cell.benchmark}' twice. Give one of the [[ask]] tables a name of its "
            'own: name = "…".'
        )


def _repeated(cells: Sequence[PlannedCell]) -> Iterator[PlannedCell]:
    seen: set[str] = set()
    for cell in cells:
        if cell.name in seen:
            yield cell
        seen.add(cell.name)
