"""The tests that decide an audit: one metric for each benchmark and domain, fixed by the evidence, corrected together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.audits.domains import domain_of_row
from tiltmeter.families import find_family
from tiltmeter.families.kit.detection import DETECTS, best_for_domain, rows_about, verdict_on
from tiltmeter.families.kit.primary import is_primary
from tiltmeter.stats.significance import holm
from tiltmeter.studies.kit.domains import DOMAINS

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
TESTED_SHARE = 0.8
"""Share of the error rate for tests whose metric detected a planted bias of their domain; the others have the rest."""
FLOOR = 10
"""A smallest possible p is computed again by FLOOR / level resamples, so that the smallest possible p is far below the
level of the test."""
Facts = Mapping[tuple[str, str], tuple[str, str]]
"""By model and benchmark: the digest of the items and the kind of the model."""
Row = Mapping[str, Any]
Refine = Callable[[Row, int], float]
"""Gives the p of a row by so many resamples."""


def deciding_tests(estimates: pd.DataFrame, model: str, facts: Facts) -> list[dict[str, Any]]:
    """Select the deciding rows of a model: for each benchmark and domain those of one metric, whatever the results are.

    Where a metric of the same kind of evidence detected a planted bias of the domain, those that did not are left out.
    """
    candidates: list[dict[str, Any]] = []
    own = estimates[estimates["model"] == model]
    for (benchmark, family), rows in own.groupby(["benchmark", "family"], sort=False):
        if find_family(str(family)).why_no_verdict(rows):
            continue
        data, kind = facts.get((model, str(benchmark)), ("", ""))
        records = [row | {"domain": domain_of_row(row), "kind": find_family(str(family)).EVIDENCE} for row in _tested(rows)]
        for domain in dict.fromkeys(row["domain"] for row in records if row["domain"]):
            about = [row for row in records if row["domain"] == domain]
            scorer, measure = _metric(rows, about, domain, data, kind)
            shown = calibrated(data, kind, (scorer, measure), domain)
            candidates += [row | shown for row in about if (row["scorer"], row["measure"]) == (scorer, measure)]
    detected = {(row["domain"], row["kind"]) for row in candidates if row["evidence"] == DETECTS}
    kept = [row for row in candidates if row["evidence"] == DETECTS or (row["domain"], row["kind"]) not in detected]
    first = {domain: place for place, domain in enumerate(DOMAINS)}
    return sorted(kept, key=lambda row: (first.get(row["domain"], len(first)), row["domain"]))


def corrected_tests(
    rows: Sequence[Row], refine: Refine | None = None, resamples: int = 1000
) -> list[tuple[Row, float, float]]:
    """Return each row with its corrected p and the level of its test at the first step of the correction."""
    weights = error_shares([row["evidence"] == DETECTS for row in rows])
    p_values = [_precise(row, LEVEL * weight, refine, resamples) for row, weight in zip(rows, weights, strict=True)]
    corrected = holm(p_values, weights)
    return [(row, p, LEVEL * weight) for row, p, weight in zip(rows, corrected, weights, strict=True)]


def _precise(row: Row, level: float, refine: Refine | None, resamples: int) -> float:
    """Return p, by more resamples where it is the smallest that these can give: 1/(n + 1), or 2/(n + 1) by two tails.

    A smaller p is exact, or by more resamples than these.
    """
    p = float(row["p"])
    if refine is None or not 0.99 / (resamples + 1) < p < 2.5 / resamples:
        return p
    return refine(row, max(resamples, math.ceil(FLOOR / level)))


def error_shares(tested: Sequence[bool]) -> list[float]:
    """Share of the error rate of each test, by whether its metric detected a planted bias of its domain.

    >>> error_shares([True, True, False]), error_shares([False, False])
    ([0.4, 0.4, 0.19999999999999996], [0.5, 0.5])
    """
    counts = {True: sum(tested), False: len(tested) - sum(tested)}
    shares = {True: TESTED_SHARE, False: 1 - TESTED_SHARE} if all(counts.values()) else {True: 1.0, False: 1.0}
    return [shares[one] / counts[one] for one in tested]


def key_of(row: Row) -> tuple[str, ...]:
    """Return what a number is about."""
    return tuple(str(row[name]) for name in ("benchmark", "scorer", "measure", "by", "group"))


def calibrated(data: str, kind: str, metric: tuple[str, str], domain: str) -> dict[str, Any]:
    """The verdict of calibration on a metric for a domain, and the largest effect with this verdict."""
    rows = rows_about(data, kind)
    verdict = verdict_on(rows, *metric, domain)
    own = [row for row in rows if row.metric == metric and row.domain == domain and row.verdict == verdict]
    best = max(own, key=lambda row: row.effect, default=None)
    effect = {} if best is None else {"effect": best.effect, "effect_low": best.low, "effect_high": best.high}
    return {"evidence": verdict, **effect}


def is_bias(measure: str, neutral: float) -> bool:
    """Return whether a number is of a measure of bias; contrasts of groups have a neutral point of their own."""
    if measure not in catalog.names("measures"):
        return False
    spec = catalog.find("measures", measure).spec
    return spec.role == "bias" and spec.neutral is not None and neutral == spec.neutral


def _tested(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Tested numbers of measures of bias."""
    whole = rows[rows["p"].notna() & rows["value"].notna() & (rows["by"] != "all")]
    return [row for row in whole.to_dict("records") if is_bias(str(row["measure"]), float(row["neutral"]))]


def _metric(rows: pd.DataFrame, own: Sequence[Row], domain: str, data: str, kind: str) -> tuple[str, str]:
    """The metric that speaks for a domain: the one that detects it best, else the primary one, else the family's first.

    Of metrics that detect it, those of the benchmark's primary measure come first: its number is what readers know.
    """
    there = list(dict.fromkeys((str(row["scorer"]), str(row["measure"])) for row in own))
    first = find_family(str(own[0]["family"])).primary_measures(str(own[0]["benchmark"]))
    for metrics in (*([one for one in there if one[1] == measure] for measure in first), there):
        if (best := best_for_domain(data, kind, domain, metrics)) is not None:
            return best.metric
    primary = [(str(row["scorer"]), str(row["measure"])) for row in rows.to_dict("records") if is_primary(row)]
    return next((metric for metric in primary if metric in there), there[0])
