"""Runs read back: one, or several together, so that nothing is mixed up."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.display import Shown
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families import Answers, find_family
from tiltmeter.runs.estimate import by_family
from tiltmeter.runs.folder import read_estimates
from tiltmeter.storage.compression import is_folder
from tiltmeter.storage.files import read_frame
from tiltmeter.storage.places import at_home
from tiltmeter.storage.provenance import recorded_model
from tiltmeter.storage.seals import ADDED, read_seal, run_digest, verified

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A finished run: what was answered, by family, and what was made of it."""

    folder: Path
    answers: Mapping[str, Answers]
    estimates: pd.DataFrame
    manifest: dict[str, Any]

    def __repr__(self) -> str:
        """Describe the run in one line, without reading its tables."""
        return f"<Run {self.folder}: {', '.join(self.manifest.get('families', ()))}>"

    @property
    def limit(self) -> int | None:
        """How many items of each benchmark were read (`--limit`); None for all."""
        limit = self.manifest.get("asked", {}).get("limit")
        return int(limit) if limit else None


class RunOnDisk(Run):
    """A run that was sealed or verified just now. Its tables are read on demand, since they may be large."""

    def __init__(self, folder: Path, manifest: dict[str, Any], **tables: Any) -> None:
        """`tables`: answers and estimates, where a copy is made with others."""
        vars(self).update(folder=folder, manifest=manifest, **tables)

    def __getattr__(self, name: str) -> Any:
        if name not in ("answers", "estimates"):
            raise AttributeError(name)
        whole = load_run(self.folder)
        if run_digest(whole.manifest) != run_digest(self.manifest):
            raise RunError(
                f"Another run was written to {self.folder} in the meantime. Give each run a folder of its own.",
                code="outdated-result",
                folder=str(self.folder),
            )
        for table in ("answers", "estimates"):
            vars(self).setdefault(table, getattr(whole, table))
        return vars(self)[name]


def verify_run(folder: Path) -> RunOnDisk:
    """A run of which every file is as it was written, or an error that names the file."""
    manifest = read_seal(folder)
    for name in (*manifest["files"], *manifest.get(ADDED, ())):
        verified(folder, manifest, name)
    return RunOnDisk(folder, manifest)


def load_run(folder: str | Path) -> Run:
    """Read a finished run from its folder. Every file is verified against its digest.

    Args:
        folder: The run folder.

    Returns:
        The run, with answers by family, estimates and manifest.

    Raises:
        RunError: There is no such folder, or the run is unfinished, changed, or of another layout.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     _ = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        ...     list(tiltmeter.load_run(folder).answers)
        ['pairs']
    """
    import pandas as pd

    folder = at_home(folder)
    if not is_folder(folder):
        raise RunError(f"There is no run folder {folder}.", code="missing-file", folder=str(folder))
    manifest = _with_numbers(read_seal(folder))
    tables = manifest.get("families", {})
    if not tables:
        raise RunError(f"{folder} is not a finished run: it has no answers.", code="unfinished-run", folder=str(folder))
    items = read_frame(verified(folder, manifest, "items.parquet"))
    answers = {name: _answers(folder, name, names, items, manifest) for name, names in tables.items()}
    stored = "estimates.csv" in manifest["files"]
    estimates = read_estimates(verified(folder, manifest, "estimates.csv")) if stored else pd.DataFrame()
    return Run(folder, answers, estimates, manifest)


def _with_numbers(manifest: dict[str, Any]) -> dict[str, Any]:
    """Read a limit that earlier versions stored as text, in runs of experiments."""
    limit = manifest.get("asked", {}).get("limit")
    return manifest if not isinstance(limit, str) else manifest | {"asked": manifest["asked"] | {"limit": int(limit)}}


def _answers(folder: Path, family: str, names: Sequence[str], items: pd.DataFrame, manifest: dict[str, Any]) -> Answers:
    evaluations = tuple(one for one in manifest.get("evaluations", ()) if one.get("family") == family)
    tables = {name: read_frame(verified(folder, manifest, f"{name}.parquet")) for name in names}
    main = tables[names[0]]
    lacking = [column for column in find_family(family).KEY if column not in main]
    if lacking:
        raise RunError(
            f"{folder / names[0]}.parquet lacks the columns {', '.join(lacking)}.",
            code="missing-column",
            file=f"{folder / names[0]}.parquet",
            columns=list(lacking),
        )
    ours = items[items["benchmark"].isin(main["benchmark"].unique())].reset_index(drop=True)
    attached = [path for evaluation in evaluations for path in evaluation.get("attachments", ())]
    digests = {path: manifest["files"].get(path, "") for path in attached}
    return Answers(family, tables, ours, evaluations, {path: folder / path for path in attached}, digests)


def load_answers(folders: Sequence[str | Path], scorers: Sequence[str] | None = None) -> dict[str, Answers]:
    """Load the answers of one or several runs, by family; of all scorers or some."""
    runs = [load_run(folder) for folder in folders]
    parts = [part for run in runs for part in run.answers.values()]
    refuse_namesakes(parts)
    answers = by_family(parts)
    return only_scorers(answers, scorers) if scorers else answers


def only_scorers(answers: Mapping[str, Answers], scorers: Sequence[str]) -> dict[str, Answers]:
    """Keep the families that have these scorers, and their answers by these."""
    kept = {name: part.where(scorer=scorers) for name, part in answers.items() if "scorer" in part.table}
    kept = {name: part for name, part in kept.items() if len(part)}
    if not kept:
        columns = [part.table["scorer"] for part in answers.values() if "scorer" in part.table]
        known = ", ".join(sorted({str(name) for column in columns for name in column.unique()}))
        raise UsageError(
            f"No scores by {', '.join(scorers)} in these runs. Scorers there: {known or 'none'}.",
            code="unknown-name",
            kind="scorer",
            names=list(scorers),
        )
    return kept


def refuse_namesakes(parts: Sequence[Answers]) -> None:
    """Two models or two benchmarks of one name must not be mixed: weights and data decide."""
    models: dict[str, Mapping[str, Any]] = {}
    data: dict[str, str] = {}
    for part in parts:
        for manifest in part.manifests:
            model = manifest.get("model", {})
            name = model.get("shown_as", "")
            first = models.setdefault(name, model)
            if recorded_model(first) != recorded_model(model):
                raise RunError(_namesake(name, first, model), code="ambiguous-name", kind="model", name=name)
        for name in part.benchmarks:
            if data.setdefault(name, data_of(part, name)) != data_of(part, name):
                raise RunError(
                    f"Two different benchmarks are called {name} in these runs: their data differ. Compare runs on the same "
                    "data, or rename a file.",
                    code="ambiguous-name",
                    kind="benchmark",
                    name=name,
                )


def _namesake(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    if ("model_sha256" in first) != ("model_sha256" in second):
        return (
            f"These runs of {name} cannot be merged: an earlier version of tiltmeter recorded one of them, with another "
            "digest of the model, so nothing shows that it is the same model. Run it again with this version."
        )
    return f"Two different models are called {name} in these runs; run one of them from another folder."


def data_of(answers: Answers, benchmark: str) -> str:
    """Identify the data of a benchmark as a run stored it: the texts that models read, and the labels of items."""
    digests = {
        str(manifest["benchmark"].get("data_sha256", ""))
        for manifest in answers.manifests
        if manifest.get("benchmark", {}).get("name") == benchmark
    }
    items = answers.items[answers.items["benchmark"] == benchmark].dropna(axis="columns", how="all")
    labels = items[sorted(items)].to_csv(index=False).encode("utf-8", "surrogatepass")
    return " ".join([*sorted(digests), hashlib.sha256(labels).hexdigest()])
