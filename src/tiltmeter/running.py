"""`run`: models × benchmarks × scorers to a run folder with items, observations, scores, estimates and a manifest."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import __version__
from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import DEFAULT_BY, Settings, estimate
from tiltmeter.importing import import_scores
from tiltmeter.models import MEANINGLESS, load_model
from tiltmeter.probes.likelihood import Advance
from tiltmeter.scoring import score
from tiltmeter.store import read_json, write_json, write_text
from tiltmeter.tables import Scores

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
    folder = _prepare(output)
    started = time.time()
    manifest = _opening(models, benchmarks, scorers, measures, options)
    write_json(folder / "manifest.json", manifest)
    loaded = [
        load_benchmark(
            name, data_dir=options.data_dir, columns=options.columns, encoding=options.encoding, limit=options.limit
        )
        for name in dict.fromkeys(map(str, benchmarks))
    ]
    scores = Scores.concat(list(_evaluate(models, loaded, scorers, options, watch or _unwatched)))
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
) -> Iterator[Scores]:
    taken: set[str] = set()
    for name in dict.fromkeys(map(str, models)):
        model = load_model(
            name,
            kind=options.kind,
            precision=options.precision,
            device=options.device,
            trust_remote_code=options.trust_remote_code,
        )
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
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


def _prepare(output: str | Path | None) -> Path:
    """A fresh folder, or an earlier run to replace. Fails before any work if it cannot be written."""
    folder = Path(output) if output else Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    if folder.exists() and not folder.is_dir():
        raise TiltmeterError(f"{folder} is a file; -o names a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "manifest.json").is_file():
        raise TiltmeterError(f"{folder} holds other files and no tiltmeter run; choose another folder with -o.")
    for stale in ("scores.parquet", "items.parquet", "estimates.csv", "estimates.json"):
        (folder / stale).unlink(missing_ok=True)
    shutil.rmtree(folder / "observations", ignore_errors=True)
    return folder


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
    folder = _prepare(output)
    table = estimate(scores, seed=seed)
    manifest = {"status": "finished", "tiltmeter": __version__, "evaluations": list(scores.manifests)}
    scores.save(folder)
    write_estimates(folder, table)
    write_json(folder / "manifest.json", manifest)
    return Run(folder, scores, table, manifest)


def load_scores(folders: Sequence[str | Path], scorers: Sequence[str] | None = None) -> Scores:
    """The scores of one or several runs, all scorers or some."""
    scores = Scores.concat([load_run(folder).scores for folder in folders])
    if not scorers:
        return scores
    kept = scores.frame[scores.frame["scorer"].isin(scorers)]
    if not len(kept):
        known = ", ".join(sorted(scores.frame["scorer"].unique()))
        raise TiltmeterError(f"No scores by {', '.join(scorers)} in these runs. Scorers there: {known}.")
    return Scores(kept.reset_index(drop=True), scores.items, scores.manifests)
