"""Domain correlation: do intrinsic and extrinsic metrics see the same models as biased? Over models, in each domain.

Tables 1 to 3 and Figure 1 of Cao et al. (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.stats.correlations import LEAST, Correlated, correlate, smallest_noticed
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.domain_figures import scatters
from tiltmeter.studies.kit.domain_scores import DOMAINS, gather_scores
from tiltmeter.studies.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings

if TYPE_CHECKING:
    import pandas as pd

CITATION = (
    "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics for Contextualized Language "
    "Representations, ACL, Tables 1 to 3; Spearman (1904) for attenuation."
)
READS = "any"
FEW = 10


def domain_correlation(
    evidence: Evidence,
    *,
    domain: Annotated[
        list[str] | None, "Domain: gender, race, religion or another; repeatable. Default: all there are."
    ] = None,
    metric: Annotated[list[str] | None, "Metric as the table names it; repeatable. Default: all there are."] = None,
    scores: Annotated[
        Path | None, "Domain scores of others (CSV: model, metric, domain, value; kind and error if known)."
    ] = None,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Pearson's r and Spearman's ρ over models, for every intrinsic with every extrinsic metric, in each domain.

    A domain score is the variance of a metric over the protected groups. p is by permutation, Holm-corrected within a
    domain; the interval draws models. `clear_r` is r without the errors of measurement of the two scores (their standard
    errors are read off their intervals). Where a run has only one kind of metric, all pairs are taken.
    """
    import pandas as pd

    settings = check_settings(seed, resamples, confidence)
    points = gather_scores(evidence, scores, settings.confidence)
    points = _kept(_kept(points, "domain", domain), "metric", metric)
    rows = [
        {"domain": name, **row}
        for name, some in points.groupby("domain", sort=False)
        for row in _pairs(some, settings.resamples, settings.confidence, settings.seed)
    ]
    if not rows:
        raise TiltmeterError(
            f"domain-correlation needs two metrics with domain scores for at least {LEAST} models each; these runs have: "
            f"{_there(points)}."
        )
    table = pd.DataFrame(corrected(rows, "domain"))
    tables = {"correlations": table, "matrix": _matrix(table), "scores": points}
    drawings = {f"scatter-{name}": scatters(points, table, name) for name in dict.fromkeys(table["domain"])}
    return Finding(
        "domain_correlation", tables, drawings, tuple(_sentences(table)), {"models": sorted(set(points["model"]))}
    )


def _kept(points: pd.DataFrame, column: str, wanted: list[str] | None) -> pd.DataFrame:
    names = list(dict.fromkeys(points[column]))
    for name in wanted or ():
        if name not in names:
            raise TiltmeterError(f"There is no {column} '{name}' with domain scores here. There are: {', '.join(names)}.")
    return points[points[column].isin(wanted)] if wanted else points


def _pairs(points: pd.DataFrame, resamples: int, confidence: float, seed: int) -> Iterator[dict[str, Any]]:
    """Every intrinsic with every extrinsic metric, or every two of the only kind there is."""
    kinds = points.drop_duplicates("metric").set_index("metric")["kind"]
    names = sorted(kinds.index, key=lambda name: kinds[name] == "extrinsic")  # stable: intrinsic ones stay first
    for a, b in combinations(names, 2):
        if kinds.nunique() > 1 and kinds[a] == kinds[b]:
            continue
        both = _wide(points, a).add_suffix("_x").join(_wide(points, b).add_suffix("_y"), how="inner")
        if len(both) < LEAST:
            continue
        x, y = both["value_x"].to_numpy(), both["value_y"].to_numpy()
        errors = (both["error_x"].to_numpy(), both["error_y"].to_numpy())
        found = correlate(x, y, errors=errors, resamples=resamples, confidence=confidence, seed=seed)
        yield {"a": a, "b": b, **vars(found), "note": _note(found)}


def _note(found: Correlated) -> str:
    """Why a value is missing."""
    if np.isnan(found.r):
        return "no correlation: one of the two is the same for all models"
    if np.isnan([found.reliability_x, found.reliability_y]).any():
        return "no clear_r: the error of measurement of a score is not known"
    return "no clear_r: all of the variance of a score could be error of measurement" if np.isnan(found.clear_r) else ""


def _wide(points: pd.DataFrame, metric: str) -> pd.DataFrame:
    return points[points["metric"] == metric].set_index("model")[["value", "error"]]


def _matrix(table: pd.DataFrame) -> pd.DataFrame:
    """As the paper prints it: a row per intrinsic metric, a column per domain and extrinsic one; *: p < .05 (Holm)."""
    shown = table.assign(
        cell=["–" if row.r != row.r else f"{row.r:+.2f}{'*' if row.p_holm < 0.05 else ''}" for row in table.itertuples()],
        column=table["domain"] + " · " + table["b"],
    )
    wide = shown.pivot(index="a", columns="column", values="cell").fillna("–")
    return wide[list(dict.fromkeys(shown["column"]))].rename_axis(None, axis=1).reset_index().rename(columns={"a": "metric"})


def _sentences(table: pd.DataFrame) -> Iterator[str]:
    for domain, rows in table.groupby("domain", sort=False):
        known = rows[rows["r"].notna()]
        if not len(known):
            yield f"{domain}: no correlation can be computed, since a metric is the same for all models."
            continue
        sure, n = known[known["p_holm"] < 0.05], int(known["n"].min())
        best = known.loc[known["r"].abs().idxmax()]
        yield (
            f"{domain}: {len(sure)} of {len(known)} correlations differ from zero (Holm-corrected p < 0.05); strongest: "
            f"{best['a']} with {best['b']}, r = {best['r']:+.2f} [{best['low']:+.2f}, {best['high']:+.2f}] over "
            f"{int(best['n'])} models."
        )
        level = 0.05 / len(known)
        yield (
            f"{domain}: with {n} models an |r| below {smallest_noticed(n):.2f} would be missed more often than one time in "
            f"five, and below {smallest_noticed(n, level=level):.2f} after correction for {len(known)} tests. No finding is "
            "not a finding of no correlation."
        )
    if (table["n"] < FEW).any():
        yield f"Fewer than {FEW} models: intervals are rough, and one model can make or hide a correlation."
    weak = table[(table[["reliability_x", "reliability_y"]].min(axis=1) < 0.5)]
    if len(weak):
        yield (
            f"In {len(weak)} of {len(table)} pairs more than half of the variance of a domain score over models could be "
            "error of measurement, which pulls r towards 0: see clear_r and the reliabilities."
        )


def _there(points: pd.DataFrame) -> str:
    if not len(points):
        return f"no domain scores (domains: {', '.join(dict.fromkeys(DOMAINS.values()))})"
    counts = points.groupby(["domain", "metric"], sort=False)["model"].nunique()
    return "; ".join(f"{domain}, {metric}: {count} models" for (domain, metric), count in counts.items())
