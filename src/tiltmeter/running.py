"""`run`: models × benchmarks × scorers to a run folder with items, observations, scores, estimates and a manifest."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import __version__, catalog
from tiltmeter.benchmarks import ROLES, Benchmark, load_benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import DEFAULT_BY, Settings, estimate
from tiltmeter.importing import import_scores
from tiltmeter.models import MEANINGLESS, check_model, load_model
from tiltmeter.paired import check_columns
from tiltmeter.probes.batching import check_batch_tokens
from tiltmeter.probes.likelihood import Advance
from tiltmeter.scoring import check_alignment, choose_scorers, score
from tiltmeter.store import read_json, write_json, write_text
from tiltmeter.tables import Scores, items_table

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MODELS = ("tiny-random-bert",)
DEFAULT_BENCHMARKS = ("starter-pairs",)
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow", "scipy")
Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class Options:
    """Everything about a run that is not the models, the benchmarks or the scorers."""

    by: Sequence[str] = DEFAULT_BY
    limit: int | None = None
    settings: Settings = field(default_factory=Settings)
    kind: str | None = None
    device: str = "auto"
    precision: str = "auto"
    batch_tokens: int | str = "auto"
    alignment: str = "auto"
    cache: bool | str | Path = True
    data_dir: str | Path | None = None
    columns: dict[str, str] | None = None
    encoding: str | None = None
    trust_remote_code: bool = False


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    scores: Scores
    estimates: pd.DataFrame
    manifest: dict[str, Any]

    @property
    def meaningless(self) -> list[str]:
        """Models whose weights are random, so that their numbers mean nothing."""
        names = {one["model"]["shown_as"] for one in self.manifest.get("evaluations", []) if "model" in one}
        return sorted(names & MEANINGLESS)


def run(
    models: Sequence[str | Path] = DEFAULT_MODELS,
    benchmarks: Sequence[str | Path] = DEFAULT_BENCHMARKS,
    scorers: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    output: str | Path | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Run:
    """Scores every model on every benchmark and writes the run folder (`runs/…` unless `output` is given).

    Interrupted or killed, the same call goes on where it stopped: finished batches are in the cache.
    """
    options = options or Options()
    options.settings.check()
    folder = _output_folder(output)
    started = time.time()
    loaded = _load_benchmarks(benchmarks, options)
    _check_names(loaded, scorers, measures, options)
    manifest = _opening(models, benchmarks, scorers, measures, options)

    def begin() -> None:  # an earlier run is replaced only when the first model is loaded and can be asked
        _clear(folder)
        write_json(folder / "manifest.json", manifest)

    scores = Scores.concat(list(_evaluate(models, loaded, scorers, options, watch or _unwatched, begin)))
    table = estimate(scores, measures, options.by, **vars(options.settings))
    manifest |= {
        "status": "finished",
        "seconds": round(time.time() - started, 3),
        "batches_computed": sum(one["batches_computed"] for one in scores.manifests),
        "batches_reused": sum(one["batches_reused"] for one in scores.manifests),
        "evaluations": list(scores.manifests),
    }
    scores.save(folder)
    keep_observations(folder, scores.manifests)
    write_estimates(folder, table)
    write_json(folder / "manifest.json", manifest)
    return Run(folder, scores, table, manifest)


def _evaluate(
    models: Sequence[str | Path],
    benchmarks: Sequence[Benchmark],
    scorers: Sequence[str] | None,
    options: Options,
    watch: Watch,
    begin: Callable[[], None],
) -> Iterator[Scores]:
    taken: set[str] = set()
    wanted = list(dict.fromkeys(map(str, models)))
    for name in wanted:
        check_model(name)
    for name in wanted:
        model = load_model(
            name,
            kind=options.kind,
            precision=options.precision,
            device=options.device,
            trust_remote_code=options.trust_remote_code,
        )
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
        for benchmark in benchmarks if not taken else ():
            choose_scorers(model, benchmark, scorers)
        if not taken:
            begin()
        taken.add(model.name)
        for benchmark in benchmarks:
            with watch(f"{model.name} × {benchmark.name}", len(benchmark.scored_items)) as advance:
                yield score(
                    model,
                    benchmark,
                    scorers,
                    cache=options.cache,
                    batch_tokens=options.batch_tokens,
                    alignment=options.alignment,
                    advance=advance,
                )


def _load_benchmarks(names: Sequence[str | Path], options: Options) -> list[Benchmark]:
    """The benchmarks, each under a name of its own: two files may be called the same."""
    loaded: list[Benchmark] = []
    for name in dict.fromkeys(map(str, names)):
        one = load_benchmark(
            name, data_dir=options.data_dir, columns=options.columns, encoding=options.encoding, limit=options.limit
        )
        if any(one.name == other.name for other in loaded):
            one = replace(one, name=f"{one.name}-{one.data_hash()[:8]}")
        loaded.append(one)
    return loaded


def _check_names(
    loaded: Sequence[Benchmark], scorers: Sequence[str] | None, measures: Sequence[str] | None, options: Options
) -> None:
    """Everything that can be known to be wrong before a model is asked."""
    for kind, names in (("scorers", scorers), ("measures", measures)):
        for name in names or ():
            catalog.find(kind, name)
    check_alignment(options.alignment)
    check_batch_tokens(options.batch_tokens)
    for benchmark in loaded:
        roles = {role for item in benchmark.scored_items for role in item.texts}
        for name in measures or ():
            missing = set(catalog.find("measures", name).parameters) & set(ROLES) - roles
            if missing:
                raise TiltmeterError(f"{name} reads {', '.join(missing)}, and {benchmark.name} has no such sentences.")
        check_columns(items_table(benchmark), benchmark.name, options.by)


def _output_folder(output: str | Path | None) -> Path:
    """A fresh folder, or an earlier run to replace. Fails before any work; changes nothing yet."""
    folder = Path(output) if output else Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    if folder.exists() and not folder.is_dir():
        raise TiltmeterError(f"{folder} is a file; -o names a folder.")
    above = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not above.is_dir():
        raise TiltmeterError(f"{folder} cannot be made: {above} is a file.")
    if folder.is_dir() and any(folder.iterdir()) and not _is_run(folder):
        raise TiltmeterError(f"{folder} holds other files and no tiltmeter run; choose another folder with -o.")
    return folder


def _is_run(folder: Path) -> bool:
    try:
        return "tiltmeter" in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _clear(folder: Path) -> None:
    """Takes away what an earlier run left."""
    try:
        for stale in ("scores.parquet", "items.parquet", "estimates.csv", "estimates.json"):
            (folder / stale).unlink(missing_ok=True)
    except OSError as error:
        raise TiltmeterError(f"Cannot replace the run in {folder}: {error.strerror}.") from None
    shutil.rmtree(folder / "observations", ignore_errors=True)


def _opening(
    models: Sequence[str | Path],
    benchmarks: Sequence[str | Path],
    scorers: Sequence[str] | None,
    measures: Sequence[str] | None,
    options: Options,
) -> dict[str, Any]:
    return {
        "status": "unfinished",
        "tiltmeter": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "asked": {
            "models": [str(model) for model in models],
            "benchmarks": [str(benchmark) for benchmark in benchmarks],
            "scorers": list(scorers) if scorers else "all applicable",
            "measures": list(measures) if measures else "all applicable",
            "limit": options.limit,
            "by": list(options.by),
            "device": options.device,
            "precision": options.precision,
            "batch_tokens": options.batch_tokens,
            "alignment": options.alignment,
            **vars(options.settings),
        },
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "command": sys.argv,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def keep_observations(folder: Path, manifests: Sequence[dict[str, Any]]) -> None:
    """Links (or copies) the token tables into the run, so that it can be read without the cache or the model."""
    for one in manifests:
        source = one.get("observations", {}).get("folder")
        if not source:
            continue
        for view in one["views"]:
            target = folder / "observations" / one["model"]["shown_as"].replace("/", "--") / one["benchmark"]["name"] / view
            target.mkdir(parents=True, exist_ok=True)
            for block in sorted((Path(source) / view).glob("block-*.parquet")):
                (target / block.name).unlink(missing_ok=True)  # never write into a link: the cache is at its other end
                try:
                    os.link(block, target / block.name)
                except OSError:  # another file system
                    shutil.copyfile(block, target / block.name)


def write_estimates(folder: Path, table: pd.DataFrame) -> None:
    """estimates.csv and estimates.json."""
    write_text(folder / "estimates.csv", table.to_csv(index=False))
    write_text(folder / "estimates.json", table.to_json(orient="records", indent=1, force_ascii=False, double_precision=15) + "\n")


def load_run(folder: str | Path) -> Run:
    """A run read back from disk; says so if it is unfinished."""
    import pandas as pd

    folder = Path(folder)
    if not folder.is_dir():
        raise TiltmeterError(f"There is no run folder {folder}.")
    scores = Scores.load(folder)
    path = folder / "estimates.csv"
    estimates = pd.read_csv(path, keep_default_na=True) if path.is_file() else pd.DataFrame()
    manifest = read_json(folder / "manifest.json") if (folder / "manifest.json").is_file() else {}
    return Run(folder, scores, estimates, manifest)


@contextmanager
def _unwatched(_: str, __: int) -> Iterator[Advance]:
    with nullcontext():
        yield lambda _: None


def import_run(
    file: str | Path, output: str | Path, *, model: str | None = None, scorer: str = "imported", seed: int = 0, **how: Any
) -> Run:
    """A run folder from scores that others published; `how` goes to `import_scores`."""
    scores = import_scores(file, model=model, scorer=scorer, **how)
    folder = _output_folder(output)
    table = estimate(scores, seed=seed)
    _clear(folder)
    manifest = {"status": "finished", "tiltmeter": __version__, "evaluations": list(scores.manifests)}
    scores.save(folder)
    write_estimates(folder, table)
    write_json(folder / "manifest.json", manifest)
    return Run(folder, scores, table, manifest)


def _refuse_namesakes(runs: Sequence[Scores]) -> None:
    """Two models of one name must not be mixed."""
    known: dict[str, str] = {}
    for one in (manifest.get("model", {}) for run in runs for manifest in run.manifests):
        name, weights = one.get("shown_as", ""), one.get("weights_sha256", "")
        if known.setdefault(name, weights) != weights:
            raise TiltmeterError(f"Two different models are called {name} in these runs; run one of them from another folder.")


def load_scores(folders: Sequence[str | Path], scorers: Sequence[str] | None = None) -> Scores:
    """The scores of one or several runs, all scorers or some."""
    runs = [load_run(folder).scores for folder in folders]
    _refuse_namesakes(runs)
    scores = Scores.concat(runs)
    if not scorers:
        return scores
    kept = scores.frame[scores.frame["scorer"].isin(scorers)]
    if not len(kept):
        known = ", ".join(sorted(scores.frame["scorer"].unique()))
        raise TiltmeterError(f"No scores by {', '.join(scorers)} in these runs. Scorers there: {known}.")
    return Scores(kept.reset_index(drop=True), scores.items, scores.manifests)
