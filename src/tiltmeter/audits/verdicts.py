"""Verdicts of an audit: for each domain and kind of evidence, what the tests say, in words and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.audits.domains import domain_of_row
from tiltmeter.display import number_text, p_text, range_text, signed_text
from tiltmeter.families import find_family
from tiltmeter.families.kit.detection import DETECTS, UNTESTED, best_for_domain, rows_about, verdict_on
from tiltmeter.families.kit.primary import FURTHER, is_primary
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.families.kit.worst import WorstGroups, worst_of
from tiltmeter.stats.significance import holm, smallest_difference
from tiltmeter.studies.kit.domains import DOMAINS

if TYPE_CHECKING:
    import pandas as pd

BIAS, AWAY, NONE, NOT_MEASURED = "evidence-of-bias", "evidence-of-the-opposite", "no-evidence", "not-measured"
MORE, LESS, ALIKE = "more-than-baseline", "less-than-baseline", "no-difference"
LEVEL = 0.05
TESTED_SHARE = 0.8
"""Share of the error rate for tests whose metric detected a planted bias of their domain; the others have the rest."""
EFFECT = ("effect", "effect_low", "effect_high")
Facts = Mapping[tuple[str, str], tuple[str, str]]
"""By model and benchmark: the digest of the items and the kind of the model."""


@dataclass(frozen=True)
class Verdict:
    """One domain by one kind of evidence.

    Attributes:
        verdict: evidence-of-bias, evidence-of-the-opposite, no-evidence or not-measured; against a baseline
            more-than-baseline, less-than-baseline or no-difference.
        value: The number of the metric that speaks, or the difference from the baseline, with its interval.
        p_corrected: After Holm's correction over all tests of the audit's table, weighted by `TESTED_SHARE`.
        detectable: The smallest distance from neutral (or difference) that this test detects with 80 % power, at the level
            of the first step of the correction.
        by, group: The group that the number is about.
        n_missing: Items without a score, of the model or of the baseline.
        change: Against a baseline, whether the model is closer to neutral than it or further.
        evidence: What calibration showed of the metric for this domain: detects, bounded, undecided or untested.
        effect: How far a planted bias of dose 1 moved the metric, with its interval; NaN if it is untested.
        reason: Why nothing was measured; else empty.
    """

    model: str
    domain: str
    kind: str
    verdict: str
    benchmark: str = ""
    scorer: str = ""
    measure: str = ""
    by: str = ""
    group: str = ""
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    neutral: float = math.nan
    n: int = 0
    n_missing: int = 0
    p_corrected: float = math.nan
    detectable: float = math.nan
    change: str = ""
    evidence: str = UNTESTED
    effect: float = math.nan
    effect_low: float = math.nan
    effect_high: float = math.nan
    reason: str = ""

    @property
    def words(self) -> str:
        """The verdict as a person reads it."""
        if self.verdict == NOT_MEASURED:
            return f"not measured: {self.reason}"
        places = decimals_of(self.measure, self.value, self.detectable)
        least = number_text(self.detectable, places)
        said = {
            BIAS: "evidence of bias", AWAY: "evidence of a lean away from the stereotypes",
            NONE: f"no evidence (could have detected {least} or more from {self.neutral:g})",
            MORE: f"more stereotypical than the baseline ({self.change} from neutral)".replace("closer from", "closer to"),
            LESS: f"less stereotypical than the baseline ({self.change} from neutral)".replace("closer from", "closer to"),
            ALIKE: f"no difference found (could have detected {least} or more)",
        }  # fmt: skip
        return said[self.verdict]

    @property
    def number(self) -> str:
        """The number behind the verdict, with its interval and p."""
        if self.verdict == NOT_MEASURED:
            return ""
        places = decimals_of(self.measure, self.value, self.low, self.high)
        signed = self.verdict in (MORE, LESS, ALIKE)
        ends = range_text(self.low, self.high, places, signed=signed)
        number = " ".join(filter(None, [number_text(self.value, places, signed=signed), ends]))
        missing = f", {self.n_missing:,} missing" if self.n_missing else ""
        return f"{number}, {p_text(self.p_corrected)}, n = {self.n:,}{missing}"

    @property
    def metric(self) -> str:
        """The metric that speaks, and what calibration showed of it."""
        group = f", {self.group}" if self.by != "bias_type" else ""
        return f"{self.measure} by {self.scorer} on {self.benchmark}{group}" if self.measure else ""

    @property
    def response(self) -> str:
        """The verdict of calibration on the metric for this domain, with the effect of a planted bias."""
        if math.isnan(self.effect):
            return self.evidence
        places = decimals_of(self.measure, self.effect)
        interval = range_text(self.effect_low, self.effect_high, places)
        return f"{self.evidence}, {signed_text(self.effect, places)} per dose {interval}"

    def record(self) -> dict[str, Any]:
        """Plain values for audit.json; unknown numbers are None."""
        values = asdict(self) | {"words": self.words}
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()}


def verdicts_of(estimates: pd.DataFrame, model: str, facts: Facts) -> list[Verdict]:
    """Return the verdicts on one model: those of every domain and kind of evidence that there are tests for."""
    rows = _speaking(estimates[estimates["model"] == model], facts)
    return _worst_per_cell(_verdict(*one) for one in _corrected(rows))


def worst_by_benchmark(estimates: pd.DataFrame, model: str, facts: Facts) -> dict[str, WorstGroups]:
    """Return the worst groups of each benchmark by the metrics that decide, with the p of the verdicts."""
    tests: dict[str, list[dict[str, Any]]] = {}
    for row, p, _ in _corrected(_speaking(estimates[estimates["model"] == model], facts)):
        tests.setdefault(str(row["benchmark"]), []).append({**row, "p_holm": p})
    return {benchmark: worst_of(rows) for benchmark, rows in tests.items()}


def differences_of(differences: pd.DataFrame, model: str, facts: Facts, estimates: pd.DataFrame) -> list[Verdict]:
    """Return the verdicts on one model against its baseline, by the same metrics as its own verdicts."""
    spoken = {_key(row): row for row in _speaking(estimates[estimates["model"] == model], facts)}
    of_model = differences[(differences["model"] == model) & differences["p"].notna()]
    known = {_key(row): row for row in of_model.to_dict("records")}
    rows = [known[key] | {"head": head} for key, head in spoken.items() if key in known]
    return _worst_per_cell(_against(*one) for one in _corrected(rows))


def _corrected(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], float, float]]:
    """Each row with its corrected p and the level of its test at the first step of the correction."""
    weights = error_shares([(row.get("head") or row)["evidence"] == DETECTS for row in rows])
    corrected = holm([row["p"] for row in rows], weights)
    return [(row, p, LEVEL * weight) for row, p, weight in zip(rows, corrected, weights, strict=True)]


def error_shares(tested: Sequence[bool]) -> list[float]:
    """Share of the error rate of each test, by whether its metric detected a planted bias of its domain.

    >>> error_shares([True, True, False]), error_shares([False, False])
    ([0.4, 0.4, 0.19999999999999996], [0.5, 0.5])
    """
    counts = {True: sum(tested), False: len(tested) - sum(tested)}
    shares = {True: TESTED_SHARE, False: 1 - TESTED_SHARE} if all(counts.values()) else {True: 1.0, False: 1.0}
    return [shares[one] / counts[one] for one in tested]


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("benchmark", "scorer", "measure", "by", "group"))


def _speaking(estimates: pd.DataFrame, facts: Facts) -> list[dict[str, Any]]:
    """Select the deciding rows: for each benchmark and domain those of one metric, fixed before the model was run.

    Where a metric of the same kind of evidence detected a planted bias of the domain, those that did not are left out.
    """
    candidates: list[dict[str, Any]] = []
    for (model, benchmark, family), rows in estimates.groupby(["model", "benchmark", "family"], sort=False):
        data, kind = facts.get((str(model), str(benchmark)), ("", ""))
        records = [row | {"domain": domain_of_row(row), "kind": find_family(str(family)).EVIDENCE} for row in _tested(rows)]
        for domain in dict.fromkeys(row["domain"] for row in records if row["domain"]):
            own = [row for row in records if row["domain"] == domain]
            scorer, measure = _metric(rows, own, domain, data, kind)
            shown = _calibrated(data, kind, (scorer, measure), domain)
            candidates += [row | shown for row in own if (row["scorer"], row["measure"]) == (scorer, measure)]
    detected = {(row["domain"], row["kind"]) for row in candidates if row["evidence"] == DETECTS}
    kept = [row for row in candidates if row["evidence"] == DETECTS or (row["domain"], row["kind"]) not in detected]
    first = {domain: place for place, domain in enumerate(DOMAINS)}
    return sorted(kept, key=lambda row: (first.get(row["domain"], len(first)), row["domain"]))


def _calibrated(data: str, kind: str, metric: tuple[str, str], domain: str) -> dict[str, Any]:
    """The verdict of calibration on a metric for a domain, and the largest effect with this verdict."""
    rows = rows_about(data, kind)
    verdict = verdict_on(rows, *metric, domain)
    own = [row for row in rows if row.metric == metric and row.domain == domain and row.verdict == verdict]
    best = max(own, key=lambda row: row.effect, default=None)
    effect = {} if best is None else {"effect": best.effect, "effect_low": best.low, "effect_high": best.high}
    return {"evidence": verdict, **effect}


def _tested(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Tested numbers of measures of bias; contrasts of groups have a neutral point of their own and are left out."""
    whole = rows[rows["p"].notna() & rows["value"].notna() & (rows["by"] != "all")]
    return [row for row in whole.to_dict("records") if _is_bias(str(row["measure"]), float(row["neutral"]))]


def _is_bias(measure: str, neutral: float) -> bool:
    if measure not in catalog.names("measures"):
        return False
    spec = catalog.find("measures", measure).spec
    return spec.role == "bias" and spec.neutral is not None and neutral == spec.neutral


def _metric(rows: pd.DataFrame, own: Sequence[Mapping[str, Any]], domain: str, data: str, kind: str) -> tuple[str, str]:
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


def _verdict(row: Mapping[str, Any], p: float, level: float) -> Verdict:
    leans = catalog.find("measures", str(row["measure"])).spec.leans
    towards = row["value"] > row["neutral"] or not leans
    verdict = NONE if not p < LEVEL else BIAS if towards else AWAY
    return replace(_blank(row, p, level), verdict=verdict, value=float(row["value"]), neutral=float(row["neutral"]))


def _against(row: Mapping[str, Any], p: float, level: float) -> Verdict:
    leans = catalog.find("measures", str(row["measure"])).spec.leans
    is_more = row["difference"] > 0 if leans else row["change"] == FURTHER
    verdict = ALIKE if not p < LEVEL else MORE if is_more else LESS
    blank = _blank(row["head"] | {name: row[name] for name in ("low", "high", "n", "n_missing")}, p, level)
    return replace(blank, verdict=verdict, value=float(row["difference"]), neutral=0.0, change=str(row["change"]))


def _blank(row: Mapping[str, Any], p: float, level: float) -> Verdict:
    error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, 0.95, power=0.5))
    effects: dict[str, Any] = {name: float(row.get(name, math.nan)) for name in EFFECT}
    return Verdict(
        str(row["model"]), str(row["domain"]), str(row["kind"]), NONE, str(row["benchmark"]), str(row["scorer"]),
        str(row["measure"]), str(row["by"]), str(row["group"]), low=float(row["low"]), high=float(row["high"]),
        n=int(row["n"]), n_missing=int(row["n_missing"]), p_corrected=float(p),
        detectable=smallest_difference(error, 1 - level) if np.isfinite(error) else math.nan,
        evidence=str(row["evidence"]), **effects,
    )  # fmt: skip


def _worst_per_cell(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One verdict per domain and kind of evidence: bias before all else, then the smallest p."""
    cells: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        cells.setdefault((verdict.domain, verdict.kind), []).append(verdict)
    order = {BIAS: 0, MORE: 0}
    return [min(own, key=lambda verdict: (order.get(verdict.verdict, 1), verdict.p_corrected)) for own in cells.values()]


def with_unmeasured(
    verdicts: Sequence[Verdict], model: str, kinds: Sequence[str], reasons: Mapping[str, str]
) -> list[Verdict]:
    """Fill the table: a domain that a kind of evidence says nothing about is not measured, with the reason."""
    domains = dict.fromkeys(one.domain for one in verdicts)
    known = {(one.domain, one.kind): one for one in verdicts}
    missing = "no item or group of these benchmarks is about it"
    return [
        known.get((domain, kind)) or Verdict(model, domain, kind, NOT_MEASURED, reason=reasons.get(kind, missing))
        for domain in domains
        for kind in kinds
    ]
