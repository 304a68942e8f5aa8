"""The experiment file: models, benchmarks and options in TOML, read strictly. Every path in it is relative to the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.execution.experiment_models import ExperimentModel, debiased, dosed, named
from tiltmeter.execution.options import DEFAULT_BY, FamilyOptions, Options
from tiltmeter.execution.relative_paths import beside, named_or_beside, options_beside
from tiltmeter.models.places import display_name
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.places import at_home
from tiltmeter.storage.toml import list_of, read_toml, refuse_unknown, table_of, tables_of, text_of
from tiltmeter.storage.typed_values import check_types

TOP = (
    "title", "output", "storage", "models", "benchmarks", "measures", "by", "run", "settings", "options", "dose", "debias",
    "ask",
)  # fmt: skip
RUN = (
    "limit", "kind", "device", "device_map", "precision", "quantize", "batch_tokens", "data_dir", "columns", "encoding",
    "trust_remote_code",
)  # fmt: skip
MODEL = ("name", "from", "kind")
EMBEDDED = {file.stem: file for file in sorted((Path(__file__).parent / "data").glob("*.toml"))}
"""Experiments that come with the package, by name. They are read as if the file lay where the command is called."""
ASK = ("benchmarks", "models", "options", "name", "limit", "per_group", "domains")


@dataclass(frozen=True)
class Asked:
    """One [[ask]] table: a benchmark, the models that answer it (None: all), and options of its family.

    `domains`, `per_group` and `limit` select its items: those of some domains, a number for each group, and a
    number in total.
    """

    benchmark: str
    name: str | None = None
    models: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    domains: tuple[str, ...] = ()
    per_group: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file says it.

    `storage` is a folder or an fsspec URL where the state of the cells is kept. If the file names one it is `shared`: the
    answers are kept there too, and workers need no common disk.
    """

    path: Path
    title: str
    output: Path
    storage: str
    shared: bool
    models: tuple[ExperimentModel, ...]
    asks: tuple[Asked, ...]
    measures: tuple[str, ...]
    by: tuple[str, ...]
    options: Mapping[str, Any]
    settings: Settings

    def run_options(self, kind: str | None = None, batch_tokens: int | str | None = None) -> Options:
        """The options of a run of one model."""
        given = dict(self.options) | ({"kind": kind} if kind else {})
        if batch_tokens is not None:
            given["batch_tokens"] = batch_tokens
        return Options(by=self.by, settings=self.settings, **given)

    def models_of(self, ask: Asked) -> tuple[str, ...]:
        """Names of the models that answer a question."""
        return ask.models or tuple(model.name for model in self.models)

    def model(self, name: str) -> ExperimentModel:
        """One of its models by name."""
        return next(model for model in self.models if model.name == name)

    def described(self) -> dict[str, Any]:
        """Facts for a manifest."""
        return {
            "title": self.title,
            "models": [asdict(model) for model in self.models],
            "asks": [asdict(ask) for ask in self.asks],
        }


def _document(path: Path) -> dict[str, Any]:
    place = path if path.exists() else EMBEDDED.get(str(path))
    if place is None:
        raise InputError(
            f"There is no experiment file {path}. Experiments that come with tiltmeter: {', '.join(EMBEDDED)}.",
            code="missing-file",
            file=path,
            embedded=list(EMBEDDED),
        )
    return read_toml(place, "the experiment file")


def read_experiment(path: str | Path) -> Experiment:
    """An experiment file, or an error that says which key is wrong."""
    path = Path(path)
    document = _document(path)
    refuse_unknown(document, TOP, f"{path}")
    home = path.absolute().parent
    output = _output(text_of(document, "output", path, path.with_suffix("").name), path)
    models = list(_models(list_of(document, "models", path), path, home))
    models += list(dosed(tables_of(document, "dose", path), models, path, home))
    models += debiased(tables_of(document, "debias", path), models, path, home)
    _unique([model.name for model in models], path, "models", "Give one of them another name: {name = …, from = …}.")
    storage = text_of(document, "storage", path, "")
    return Experiment(
        path=path,
        title=text_of(document, "title", path, path.stem),
        output=output,
        storage=storage if "://" in storage else beside(home, storage) if storage else str(output / "state"),
        shared=bool(storage),
        models=tuple(models),
        asks=tuple(_asks(document, models, path, home)),
        measures=tuple(map(str, list_of(document, "measures", path, []))),
        by=tuple(map(str, list_of(document, "by", path, list(DEFAULT_BY)))),
        options=_run_options(document, path, home),
        settings=_settings(document, path),
    )


def _output(name: str, path: Path) -> Path:
    """A folder of the experiment's own, relative to the file."""
    folder = path.absolute().parent / at_home(name)
    if not name.strip() or not name.isprintable() or folder.resolve() == path.absolute().parent.resolve():
        raise InputError(
            f"{path}: 'output' must name a folder of its own, not {name!r}.",
            code="wrong-type",
            file=path,
            name="output",
            value=name,
        )
    return folder


def _models(entries: Iterable[Any], path: Path, home: Path) -> Iterable[ExperimentModel]:
    for entry in entries:
        if isinstance(entry, str):
            source = named_or_beside(entry, home)
            yield ExperimentModel(_called(source), source)
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("from"), str):
            raise InputError(
                f'{path}: a model is a name or folder, or {{name = "…", from = "…"}}, not {entry!r}.',
                code="wrong-type",
                file=path,
                name="models",
                value=entry,
            )
        refuse_unknown(entry, MODEL, f"{path}, models")
        source = named_or_beside(entry["from"], home)
        kind = text_of(entry, "kind", path, "")
        yield ExperimentModel(text_of(entry, "name", path, _called(source)), source, kind or None)


def _called(source: str) -> str:
    """A folder goes by its own name, whether it is there or not."""
    return Path(source).name if Path(source).is_absolute() else display_name(source)


def _asks(document: Mapping[str, Any], models: list[ExperimentModel], path: Path, home: Path) -> Iterable[Asked]:
    everywhere = table_of(document, "options", path)
    plain = [Asked(named_or_beside(str(name), home)) for name in list_of(document, "benchmarks", path, [])]
    tables = []
    for table in tables_of(document, "ask", path):
        refuse_unknown(table, ASK, f"{path}, ask")
        benchmarks = list_of(table, "benchmarks", path)
        chosen = [named(models, str(name), path, "ask").name for name in list_of(table, "models", path, [])]
        if "name" in table and len(benchmarks) != 1:
            raise InputError(
                f"{path}, ask: 'name' applies to one benchmark, and there are {len(benchmarks)}. Use a table for each.",
                code="conflicting-options",
                file=path,
                name="name",
                n_benchmarks=len(benchmarks),
            )
        options = table_of(table, "options", path)
        called = text_of(table, "name", path, "") or None
        tables += [
            Asked(named_or_beside(str(name), home), called, tuple(chosen) or None, options, **_selection(table, path))
            for name in benchmarks
        ]
    if not plain and not tables:
        raise InputError(
            f"{path} names no benchmarks: benchmarks = [ … ], or [[ask]] tables.",
            code="missing-value",
            file=path,
            name="benchmarks",
        )
    hints = FamilyOptions.hints()
    for ask in (*plain, *tables):
        options = options_beside({**everywhere, **ask.options}, hints, home)
        FamilyOptions.read(options)  # refuses what no family has
        yield replace(ask, options=options)


def _selection(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Selection of the items of a benchmark."""
    for name in ("limit", "per_group"):
        value = table.get(name)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InputError(
                f"{path}, ask: '{name}' is a whole number of at least 1, not {value!r}.",
                code="out-of-range",
                file=path,
                name=name,
                value=value,
                low=1,
            )
    domains = tuple(map(str, list_of(table, "domains", path, [])))
    return {"domains": domains, "per_group": table.get("per_group"), "limit": table.get("limit")}


def _run_options(document: Mapping[str, Any], path: Path, home: Path) -> dict[str, Any]:
    given = table_of(document, "run", path)
    refuse_unknown(given, RUN, f"{path}, run")
    check_types(Options, given, f"{path}, run")
    if "data_dir" in given:
        given["data_dir"] = beside(home, str(given["data_dir"]))
    return given


def _settings(document: Mapping[str, Any], path: Path) -> Settings:
    given = table_of(document, "settings", path)
    refuse_unknown(given, [entry.name for entry in fields(Settings)], f"{path}, settings")
    check_types(Settings, given, f"{path}, settings")
    settings = Settings(**given)
    settings.check()
    return settings


def _unique(names: list[str], path: Path, what: str, help_: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{path}: {names.count(name)} {what} are called '{name}'. {help_}",
                code="duplicate-name",
                file=path,
                kind=what,
                name=name,
            )
