"""What a report is made of: one or several runs, put together so that nothing is mixed up and nothing is hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers
from tiltmeter.runs import Run, load_run
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.runs.options import DEFAULT_BY
from tiltmeter.runs.reading import data_of
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Given = str | Path | Run | Answers


@dataclass(frozen=True)
class Source:
    """One run, and under which names its models and benchmarks stand on the page."""

    label: str
    folder: Path | None
    answers: Mapping[str, Answers]
    estimates: pd.DataFrame
    manifest: dict[str, Any]
    models: dict[str, str] = field(default_factory=dict)
    benchmarks: dict[str, str] = field(default_factory=dict)

    def evaluations(self) -> list[dict[str, Any]]:
        """What the manifest says of every model on every benchmark."""
        return [one for one in self.manifest.get("evaluations", ()) if "model" in one and "benchmark" in one]

    def weights(self, model: str) -> str:
        """The hash of a model's weights; empty for imported scores."""
        ours = (one["model"] for one in self.evaluations() if one["model"].get("shown_as") == model)
        return next((str(facts.get("weights_sha256", "")) for facts in ours), "")

    def data(self, benchmark: str) -> str:
        """What names the data of a benchmark."""
        return " ".join(data_of(part, benchmark) for part in self.answers.values() if benchmark in part.benchmarks)

    def settings(self) -> Settings:
        """How this run was resampled, as far as is known."""
        asked = self.manifest.get("asked", {})
        known = {name: asked[name] for name in ("resamples", "confidence", "seed") if name in asked}
        return Settings(**known)

    def renamed(self, models: dict[str, str], benchmarks: dict[str, str]) -> Source:
        """The same under the names of the page."""

        def named(frame: pd.DataFrame) -> pd.DataFrame:
            names = {"model": models, "benchmark": benchmarks}
            return frame.assign(**{key: frame[key].astype(object).map(new) for key, new in names.items() if key in frame})

        answers = {name: _renamed(part.mapped(named), models, benchmarks) for name, part in self.answers.items()}
        return replace(self, answers=answers, estimates=named(self.estimates), models=models, benchmarks=benchmarks)


def _renamed(answers: Answers, models: dict[str, str], benchmarks: dict[str, str]) -> Answers:
    """With manifests that use the names of the page."""
    manifests = []
    for manifest in answers.manifests:
        model, benchmark = manifest.get("model", {}), manifest.get("benchmark", {})
        model = model | {"shown_as": models.get(model.get("shown_as", ""), model.get("shown_as", ""))}
        benchmark = benchmark | {"name": benchmarks.get(benchmark.get("name", ""), benchmark.get("name", ""))}
        manifests.append(manifest | {"model": model, "benchmark": benchmark})
    return replace(answers, manifests=tuple(manifests))


@dataclass(frozen=True)
class Material:
    """All runs of a report together, with what a reader must be told before anything else."""

    sources: tuple[Source, ...]
    answers: Mapping[str, Answers]
    estimates: pd.DataFrame
    notices: tuple[str, ...]

    @property
    def settings(self) -> Settings:
        """Those of the first run; runs that differ are noticed."""
        return self.sources[0].settings()

    @property
    def models(self) -> list[str]:
        """In the order in which they were run."""
        return list(dict.fromkeys(self.estimates["model"]))

    @property
    def benchmarks(self) -> list[str]:
        """In the order in which they were run."""
        return list(dict.fromkeys(self.estimates["benchmark"]))


def gather(runs: Given | Sequence[Given]) -> Material:
    """Loads what is not loaded yet, gives namesakes names of their own, and notes what a reader should know."""
    import pandas as pd

    given = [runs] if isinstance(runs, str | Path | Run | Answers) else list(runs)
    if not given:
        raise TiltmeterError("A report needs at least one run.")
    loaded = _tell_apart([_source(one, number) for number, one in enumerate(given, 1)])
    answers = by_family([part for source in loaded for part in source.answers.values()])
    estimates = pd.concat([source.estimates for source in loaded], ignore_index=True)
    return Material(tuple(loaded), answers, estimates, tuple(_notices(loaded)))


def _source(given: Given, number: int) -> Source:
    if isinstance(given, str | Path):
        given = _load(Path(given))
    if isinstance(given, Run):
        return Source(given.folder.absolute().name, given.folder, given.answers, given.estimates, given.manifest)
    if not len(given):
        raise TiltmeterError("These answers are empty; there is nothing to report.")
    table = estimate_all({given.family: given}, None, DEFAULT_BY, Settings())
    return Source(f"{given.family} {number}", None, {given.family: given}, table, {"evaluations": list(given.manifests)})


def _load(folder: Path) -> Run:
    """A run folder with all its files; else which of them are missing. Answers saved from Python have no estimates yet."""
    run = load_run(folder)
    if "asked" in run.manifest and not (folder / "estimates.csv").is_file():
        raise TiltmeterError(f"{folder} lacks estimates.csv; run the same command again, which reuses the cache.")
    if len(run.estimates):
        return run
    return replace(run, estimates=estimate_all(run.answers, None, DEFAULT_BY, Settings()))


def _tell_apart(sources: Sequence[Source]) -> list[Source]:
    labels = _distinct([one.label for one in sources])
    sources = [replace(one, label=label) for one, label in zip(sources, labels, strict=True)]
    return [one.renamed(_model_names(one, sources), _benchmark_names(one, sources)) for one in sources]


def _distinct(labels: Sequence[str]) -> list[str]:
    """Two folders of one name are numbered."""
    return [
        label if labels.count(label) == 1 else f"{label} {labels[: n + 1].count(label)}" for n, label in enumerate(labels)
    ]


def _model_names(ours: Source, sources: Sequence[Source]) -> dict[str, str]:
    """A name that stands for other weights in another run, or for the same numbers twice, is followed by the run's."""
    names = {}
    for model in dict.fromkeys(ours.estimates["model"]):
        others = [one for one in sources if one is not ours and model in set(one.estimates["model"])]
        clash = any(
            one.weights(model) != ours.weights(model) or _measured(one, model) & _measured(ours, model) for one in others
        )
        names[model] = f"{model} ({ours.label})" if clash else model
    return names


def _measured(source: Source, model: str) -> set[tuple[str, str]]:
    rows = source.estimates[source.estimates["model"] == model]
    return set(zip(rows["benchmark"], rows["scorer"], strict=True))


def _benchmark_names(ours: Source, sources: Sequence[Source]) -> dict[str, str]:
    """Other data under the same name are another benchmark."""
    names = {}
    for benchmark in dict.fromkeys([*(name for part in ours.answers.values() for name in part.items["benchmark"]),
                                    *ours.estimates["benchmark"]]):  # fmt: skip
        having = [one for one in sources if benchmark in set(one.estimates["benchmark"]) or one is ours]
        names[benchmark] = f"{benchmark} ({ours.label})" if len({one.data(benchmark) for one in having}) > 1 else benchmark
    return names


def _notices(sources: Sequence[Source]) -> Iterator[str]:
    """What stands on top of the page."""
    for one in sources:
        if one.manifest.get("status", "finished") != "finished":
            yield f"The run {one.label} is unfinished: models or benchmarks may be lacking. The same command finishes it."
        limit = one.manifest.get("asked", {}).get("limit")
        if limit:
            yield f"The run {one.label} used only the first {limit:,} items of each benchmark."
    versions = {one.label: str(one.manifest["tiltmeter"]) for one in sources if "tiltmeter" in one.manifest}
    if len(set(versions.values())) > 1:
        said = ", ".join(f"{label}: {version}" for label, version in versions.items())
        yield f"These runs come from different versions of tiltmeter ({said}). Numbers may differ for that reason alone."
    if len({tuple(vars(one.settings()).values()) for one in sources}) > 1:
        yield "These runs were resampled with different settings (seed, resamples or confidence); see where it came from."
    for name in dict.fromkeys(name for one in sources for name, shown in one.benchmarks.items() if name != shown):
        yield (
            f"Different data are called {name} in these runs. They are shown under names of their own; compare their "
            "numbers with care."
        )
    for name in dict.fromkeys(name for one in sources for name, shown in one.models.items() if name != shown):
        yield f"More than one run has a model called {name}; the name of the run stands behind it."
