"""Rows of the evidence table from a calibration: what each metric showed of the planted bias of each domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.families.kit.detection import COLUMNS, Detection, verdict_of
from tiltmeter.stats.significance import holm
from tiltmeter.storage.files import read_json

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "tiltmeter study calibration"


def evidence_rows(calibrated: pd.DataFrame, folders: Sequence[Path], seeds: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """Return the evidence table of a calibration, without metrics of unknown items or without noise (one seed).

    Only measures of bias are evidence. Those that say which way a model leans can be headlines, so they are corrected
    together, apart from those without a direction: one family of tests for each base model and domain.

    Args:
        calibrated: The main table of the study.
        folders: Its runs.
        seeds: The training seeds of each base model.
    """
    import pandas as pd

    data, kinds = _facts(folders)
    specs = {name: catalog.find("measures", name).spec for name in calibrated["measure"].unique()}
    of_bias = calibrated["measure"].map(lambda name: specs[name].role == "bias") & ~calibrated["by"].str.contains("×")
    known = calibrated[of_bias & calibrated["p"].notna() & calibrated["benchmark"].isin(data)]
    leans = known["measure"].map(lambda name: specs[name].leans)
    rows = []
    for _, family in known.groupby([known["model"], known["domain"], leans], sort=False):
        trained = family["model"].map({model: " ".join(map(str, own)) for model, own in seeds.items()})
        corrected = family.assign(p_holm=holm(list(family["p"])), seeds=trained)
        rows += [
            vars(_row(row, data[row["benchmark"]], kinds.get(row["model"], ""))) for row in corrected.to_dict("records")
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(row: Mapping[str, Any], data: str, kind: str) -> Detection:
    names = {name: str(row[name]) for name in ("benchmark", "family", "scorer", "measure", "by", "group", "domain", "model")}
    effect, low, high = float(row["slope"]), float(row["low"]), float(row["high"])
    verdict = verdict_of(names["measure"], effect, low, high, float(row["p_holm"]))
    return Detection(
        **names, data_sha256=data, kind=kind, seeds=str(row["seeds"]), effect=effect, low=low, high=high, verdict=verdict,
        source=SOURCE,
    )  # fmt: skip


def _facts(folders: Sequence[Path]) -> tuple[dict[str, str], dict[str, str]]:
    """Return digests of whole benchmarks that are the same for all models, and the kind of each model."""
    data: dict[str, set[str]] = {}
    kinds: dict[str, str] = {}
    for manifest in (read_json(folder / "manifest.json") for folder in folders):
        for one in manifest.get("evaluations", []):
            model, benchmark = one.get("model", {}), one.get("benchmark", {})
            kinds[str(model.get("shown_as", model.get("name", "")))] = str(model.get("kind", ""))
            name = str(benchmark.get("name", ""))
            data.setdefault(name, set()).add(str(benchmark.get("whole_sha256") or benchmark.get("data_sha256", "")))
    return {name: digests.pop() for name, digests in data.items() if len(digests) == 1}, kinds
