"""The data of a report: one or several runs, combined without mixing up models or data of the same name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import RunError, TiltmeterError, UsageError
from tiltmeter.execution.options import DEFAULT_BY
from tiltmeter.families import Answers
from tiltmeter.gate.forms import STORED
from tiltmeter.runs import Run, load_run
from tiltmeter.runs.details import with_details
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.runs.reading import data_of
from tiltmeter.stats.settings import Settings, stored_settings
from tiltmeter.storage.files import read_json

if TYPE_CHECKING:
    import pandas as pd

Given = str | Path | Run | Answers


OTHER_VERSIONS = "These runs come from different versions of tiltmeter ({listed}). Numbers may differ because of that."
OTHER_DATA = (
    "Different data are called {name} in these runs. They are shown under different names; compare their numbers with care."
)
NAMESAKES = "More than one run has a model called {name}; the name of the run follows in parentheses."


@dataclass(frozen=True)
class Source:
    """One run, and the names of its models and benchmarks on the page."""

    label: str
    folder: Path | None
    answers: Mapping[str, Answers]
    estimates: pd.DataFrame
    manifest: dict[str, Any]
    models: dict[str, str] = field(default_factory=dict)
    benchmarks: dict[str, str] = field(default_factory=dict)

    def evaluations(self) -> list[dict[str, Any]]:
        """The manifest's entries, one per model and benchmark."""
        return [entry for entry in self.manifest.get("evaluations", ()) if "model" in entry and "benchmark" in entry]

    def weights(self, model: str) -> str:
        """The hash of a model's weights; empty for imported scores."""
        of_model = (evaluation["model"] for evaluation in self.evaluations() if evaluation["model"].get("shown_as") == model)
        return next((str(facts.get("weights_sha256", "")) for facts in of_model), "")

    def data(self, benchmark: str) -> str:
        """An identifier of the data of a benchmark."""
        return " ".join(data_of(part, benchmark) for part in self.answers.values() if benchmark in part.benchmarks)

    def settings(self) -> Settings:
        """The resampling settings of this run, with defaults for those that are not known."""
        return stored_settings(self.manifest.get("asked", {}))

    def renamed(self, models: dict[str, str], benchmarks: dict[str, str]) -> Source:
        """A copy with the names of the page."""

        def named(frame: pd.DataFrame) -> pd.DataFrame:
            names = {"model": models, "benchmark": benchmarks}
            return frame.assign(**{key: frame[key].astype(object).map(new) for key, new in names.items() if key in frame})

        answers = {name: _renamed(part.mapped(named), models, benchmarks) for name, part in self.answers.items()}
        return replace(self, answers=answers, estimates=named(self.estimates), models=models, benchmarks=benchmarks)


def _renamed(answers: Answers, models: dict[str, str], benchmarks: dict[str, str]) -> Answers:
    """A copy with the names of the page in its manifests."""
    manifests = []
    for manifest in answers.manifests:
        model, benchmark = manifest.get("model", {}), manifest.get("benchmark", {})
        model = model | {"shown_as": models.get(model.get("shown_as", ""), model.get("shown_as", ""))}
        benchmark = benchmark | {"name": benchmarks.get(benchmark.get("name", ""), benchmark.get("name", ""))}
        manifests.append(manifest | {"model": model, "benchmark": benchmark})
    return replace(answers, manifests=tuple(manifests))


@dataclass(frozen=True)
class Material:
    """All runs of a report together, with the notices for the top of the page."""

    sources: tuple[Source, ...]
    answers: Mapping[str, Answers]
    estimates: pd.DataFrame
    notices: tuple[str, ...]
    baseline: str | None = None
    """The model that others are compared with. Default: that of the gate's decision, else the first."""

    @property
    def settings(self) -> Settings:
        """The settings of the first run; a notice says if other runs differ."""
        return self.sources[0].settings() if self.sources else Settings()

    @property
    def models(self) -> list[str]:
        """The models, in the order in which they were run."""
        return list(dict.fromkeys(self.estimates["model"]))

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks, in the order in which they were run."""
        return list(dict.fromkeys(self.estimates["benchmark"]))

    @property
    def evaluations(self) -> list[Mapping[str, Any]]:
        """Manifests of the evaluations, with the names that the page uses."""
        return [manifest for part in self.answers.values() for manifest in part.manifests]


def gather(runs: Given | Sequence[Given], baseline: str | None = None) -> Material:
    """Loads the runs, gives different models or data of the same name distinct names, and collects notices."""
    import pandas as pd

    given = [runs] if isinstance(runs, str | Path | Run | Answers) else list(runs)
    if not given:
        raise UsageError("A report needs at least one run.", code="missing-value", argument="runs")
    sources = [_source(run, number) for number, run in enumerate(given, 1)]
    for source in sources:
        if not len(source.estimates):
            message = f"{source.label} has no estimates to report: no measure applies to its answers."
            raise RunError(message, code="empty-selection", run=source.label)
    loaded = _distinguish(sources)
    answers = by_family([part for source in loaded for part in source.answers.values()])
    estimates = pd.concat([source.estimates for source in loaded], ignore_index=True)
    return Material(tuple(loaded), answers, estimates, tuple(_notices(loaded)), _baseline(loaded, baseline))


def _baseline(sources: Sequence[Source], wanted: str | None) -> str | None:
    """The name on the page of the model to compare with: as requested, else that of a stored decision of the gate."""
    shown = {name: new for source in sources for name, new in source.models.items()}
    if wanted is not None and wanted not in (*shown, *shown.values()):
        raise UsageError(
            f"There is no model '{wanted}' in these runs. Models: {', '.join(shown)}.",
            code="unknown-name", kind="model", name=wanted,
        )  # fmt: skip
    stored = (_gate_baseline(source) for source in sources)
    name = wanted or next((name for name in stored if name in shown), None)
    return None if name is None else shown.get(name, name)


def _gate_baseline(source: Source) -> str | None:
    """The baseline of a stored decision; what is wrong with the file is said where the decision is shown."""
    path = source.folder / STORED if source.folder else None
    try:
        decision = read_json(path) if path and path.is_file() else None
    except (TiltmeterError, ValueError, OSError):
        return None
    return str(decision.get("baseline") or "") or None if isinstance(decision, dict) else None


def _source(run: Given, number: int) -> Source:
    if isinstance(run, str | Path):
        run = _load(Path(run))
    if isinstance(run, Run):
        run = with_details(run)
        return Source(run.folder.absolute().name, run.folder, run.answers, run.estimates, run.manifest)
    if not len(run):
        raise UsageError("These answers are empty, so there is nothing to report.", code="empty-selection")
    table = estimate_all({run.family: run}, None, DEFAULT_BY, Settings())
    return Source(f"{run.family} {number}", None, {run.family: run}, table, {"evaluations": list(run.manifests)})


def _load(folder: Path) -> Run:
    """Loads a run folder. Answers saved from Python have no estimates yet, so these are computed."""
    run = load_run(folder)
    if "asked" in run.manifest and not (folder / "estimates.csv").is_file():
        message = f"{folder} has no estimates.csv. Run the same command again; it reuses the cache."
        raise RunError(message, code="unfinished-run", run=folder)
    if len(run.estimates):
        return run
    return replace(run, estimates=estimate_all(run.answers, None, DEFAULT_BY, Settings()))


def _distinguish(sources: Sequence[Source]) -> list[Source]:
    labels = _distinct([source.label for source in sources])
    sources = [replace(source, label=label) for source, label in zip(sources, labels, strict=True)]
    return [source.renamed(_model_names(source, sources), _benchmark_names(source, sources)) for source in sources]


def _distinct(labels: Sequence[str]) -> list[str]:
    """The labels; equal ones are numbered."""
    return [
        label if labels.count(label) == 1 else f"{label} {labels[: n + 1].count(label)}" for n, label in enumerate(labels)
    ]


def _model_names(source: Source, sources: Sequence[Source]) -> dict[str, str]:
    """Names for the page: the run's label is added if another run has other weights or the same scores under a name."""
    names = {}
    for model in dict.fromkeys(source.estimates["model"]):
        others = [other for other in sources if other is not source and model in set(other.estimates["model"])]
        weights, measured = source.weights(model), _measured(source, model)
        clash = any(other.weights(model) != weights or _measured(other, model) & measured for other in others)
        names[model] = f"{model} ({source.label})" if clash else model
    return names


def _measured(source: Source, model: str) -> set[tuple[str, str]]:
    rows = source.estimates[source.estimates["model"] == model]
    return set(zip(rows["benchmark"], rows["scorer"], strict=True))


def _benchmark_names(source: Source, sources: Sequence[Source]) -> dict[str, str]:
    """Names for the page: the run's label is added if another run has other data under the same name."""
    names = {}
    for benchmark in dict.fromkeys([*(name for part in source.answers.values() for name in part.items["benchmark"]),
                                    *source.estimates["benchmark"]]):  # fmt: skip
        having = [other for other in sources if benchmark in set(other.estimates["benchmark"]) or other is source]
        several = len({other.data(benchmark) for other in having}) > 1
        names[benchmark] = f"{benchmark} ({source.label})" if several else benchmark
    return names


def _notices(sources: Sequence[Source]) -> Iterator[str]:
    """The notices at the top of the page."""
    for source in sources:
        if source.manifest.get("status", "finished") != "finished":
            yield (
                f"The run {source.label} is unfinished: models or benchmarks may be missing. Run the same command again to "
                "finish it."
            )
        limit = source.manifest.get("asked", {}).get("limit")
        if limit:
            yield f"The run {source.label} used only {limit:,} items of each benchmark (--limit)."
    versions = {source.label: str(source.manifest["tiltmeter"]) for source in sources if "tiltmeter" in source.manifest}
    if len(set(versions.values())) > 1:
        listed = ", ".join(f"{label}: {version}" for label, version in versions.items())
        yield OTHER_VERSIONS.format(listed=listed)
    if len({tuple(vars(source.settings()).values()) for source in sources}) > 1:
        yield "These runs were resampled with different settings (seed, resamples or confidence); see the section Origin."
    for name in dict.fromkeys(name for source in sources for name, shown in source.benchmarks.items() if name != shown):
        yield OTHER_DATA.format(name=name)
    for name in dict.fromkeys(name for source in sources for name, shown in source.models.items() if name != shown):
        yield NAMESAKES.format(name=name)
