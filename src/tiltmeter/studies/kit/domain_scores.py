"""Domain scores of stored runs, one row per model, metric and domain, and those that others published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.families import find_family
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.runs.details import has_details, with_details
from tiltmeter.runs.folder import read_estimates
from tiltmeter.runs.reading import load_run
from tiltmeter.stats.attenuation import noise_once
from tiltmeter.stats.estimates import details_of
from tiltmeter.storage.tables import read_table, require_columns

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("model", "metric", "domain", "value")


def gather_scores(evidence: Evidence, file: Path | None, confidence: float) -> pd.DataFrame:
    """Gather the scores of all runs and of a published file in one table.

    Columns: model, metric, kind (intrinsic, extrinsic), domain, value, error (the standard error, where it is known), and
    without_temperature: the metric's name without the temperature of texts.
    """
    import pandas as pd

    rows = [row for folder in evidence.folders for row in _of_run(folder, confidence)]
    rows += list(_published(file)) if file else []
    points = pd.DataFrame(rows, columns=[*COLUMNS, "kind", "error", "groups", "without_temperature"])
    points = points.drop_duplicates(["model", "metric", "domain"], keep="last").dropna(subset="value").reset_index(drop=True)
    for _, some in points.groupby(["metric", "domain"]):
        known = some[(some["error"] > 0) & (some["groups"] > 1)]
        if len(known):
            columns = (known[name].to_numpy(dtype=np.float64) for name in ("value", "error", "groups"))
            points.loc[known.index, "error"] = noise_once(*columns)
    notes = np.where(points["error"].isna(), "standard error not known", "")
    names = points["without_temperature"].fillna(points["metric"])
    return points.drop(columns="groups").assign(without_temperature=names, note=notes)


def _of_run(folder: Path, confidence: float) -> Iterator[dict[str, Any]]:
    """The estimates of measures that say of themselves that they are domain scores."""
    from scipy.stats import norm

    table = _estimates(folder)
    table = table[[is_domain_score(row) for row in table.to_dict("records")]]
    wide = 2 * norm.ppf((1 + confidence) / 2)
    judges = [details_of(row).get("judge", row["scorer"]) for row in table.to_dict("records")]
    names = zip(metric_names(table), metric_names(table, judges), strict=True)
    for (metric, plain), row in zip(names, table.to_dict("records"), strict=True):
        error = (row["high"] - row["low"]) / wide
        yield {
            "model": row["model"],
            "metric": metric,
            "kind": "extrinsic" if find_family(row["family"]).EXTRINSIC else "intrinsic",
            "domain": domain_named(row["group"]),
            "value": row["value"],
            "error": error if np.isfinite(error) else np.nan,
            "groups": _groups(row),
            "without_temperature": plain,
        }


def _estimates(folder: Path) -> pd.DataFrame:
    """The estimates of a run folder; without details if it is of an earlier version and has no answers."""
    if has_details(folder):
        return read_estimates(folder / "estimates.csv")
    try:
        return with_details(load_run(folder)).estimates
    except TiltmeterError:
        return read_estimates(folder / "estimates.csv")


def _groups(row: Mapping[str, Any]) -> float:
    """Over how many groups a score is the variance; missing for means over seeds, whose errors are not of groups alone."""
    if catalog.find("measures", row["measure"]).spec.per_seed:
        return np.nan
    return float(details_of(row).get("n_groups", row["n"] if row["by"] == "domain" else np.nan))


def is_domain_score(row: Mapping[str, Any]) -> bool:
    """Return True if an estimate is a score of a domain, as its measure declares."""
    return row["by"] != "all" and bool(catalog.find("measures", row["measure"]).spec.spread_of)


def metric_names(table: pd.DataFrame, scorers: Sequence[str] | None = None) -> pd.Series:
    """Name the metric of each estimate: benchmark, scorer, and the measure unless it is the plain variance.

    `scorers`: other names for the scorers of the rows.

    Where every model has one scorer, though not all the same (one for masked models, one for causal ones), they are one
    metric, and its name leaves them out.
    """
    place = [table["benchmark"], table["measure"]]
    most = table.groupby([*place, "model"])["scorer"].transform("nunique")
    alone = most.groupby(place).transform("max") <= 1
    several = table.groupby(place)["scorer"].transform("nunique") > 1
    shown = table["scorer"] if scorers is None else table.assign(scorer=list(scorers))["scorer"]
    scorer = shown.fillna("").astype(str).where(~(alone & several), "")
    measure = table["measure"].where(~table["measure"].map(_is_plain), "")
    return (table["benchmark"] + " " + scorer + " " + measure).str.split().str.join(" ")


def _is_plain(measure: str) -> bool:
    """Return True if a measure is a plain variance, whose name adds nothing."""
    return len(catalog.find("measures", measure).spec.spread_of) > 1


def _published(file: Path) -> Iterator[dict[str, Any]]:
    rows = read_table(file)
    if not rows:
        raise InputError(f"{file} has no rows.", code="empty-file", file=str(file))
    require_columns(rows, COLUMNS, file)
    for number, row in enumerate(rows, 2):
        try:
            value, error = float(row["value"]), float(row.get("error") or "nan")
        except (TypeError, ValueError):
            raise InputError(
                f"{file}, line {number}: '{row['value']}' or '{row.get('error')}' is not a number.",
                code="wrong-type",
                file=str(file),
                line=number,
                values=[row["value"], row.get("error")],
            ) from None
        kind = str(row.get("kind") or "intrinsic")
        if kind not in ("intrinsic", "extrinsic"):
            raise InputError(
                f"{file}, line {number}: kind is intrinsic or extrinsic, not '{kind}'.",
                code="unknown-name",
                kind="kind",
                name=kind,
                file=str(file),
                line=number,
            )
        named = {"model": str(row["model"]), "metric": str(row["metric"]), "domain": domain_named(str(row["domain"]))}
        yield {**named, "kind": kind, "value": value, "error": error}
