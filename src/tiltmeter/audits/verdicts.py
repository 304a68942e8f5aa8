"""Verdicts of an audit: for each deciding test what it says, in words and as data."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.audits.deciding import LEVEL, Facts, Refine, Row, calibrated, corrected_tests, deciding_tests, key_of
from tiltmeter.audits.detectable import from_baseline, from_neutral
from tiltmeter.display import number_text, p_text, range_text, signed_text
from tiltmeter.families import find_family
from tiltmeter.families.kit.detection import UNTESTED
from tiltmeter.families.kit.primary import FURTHER, is_primary
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.families.kit.worst import WorstGroups, worst_of
from tiltmeter.studies.kit.domains import WHOLE

if TYPE_CHECKING:
    import pandas as pd

BIAS, AWAY, DIFFERS, NONE = "evidence-of-bias", "evidence-of-the-opposite", "evidence-of-a-difference", "no-evidence"
MORE, LESS, ALIKE = "more-than-baseline", "less-than-baseline", "no-difference"
FARTHER, NEARER = "further-than-baseline", "closer-than-baseline"
CANNOT, NOT_MEASURED = "cannot-decide", "not-measured"
EFFECT = ("effect", "effect_low", "effect_high")
OVERALL = "overall"
"""Stands for the domain of a number of all items."""
TOO_FEW = "with {n} items it cannot reach the corrected level"
HOLDS_NEUTRAL = "p is below the corrected level, and the 95 % interval contains {neutral:g}"
CONTRARY = "the value is larger than what its interval suggests that it detects, and p is not below the corrected level"


@dataclass(frozen=True)
class Verdict:
    """One test about one domain, in words and numbers.

    Attributes:
        verdict: evidence-of-bias, evidence-of-the-opposite, no-evidence, cannot-decide or not-measured; of measures without
            a direction evidence-of-a-difference. Against a baseline more-than-baseline, less-than-baseline or no-difference;
            of measures without a direction further-than-baseline or closer-than-baseline.
        by: The grouping that `group` belongs to, such as bias_type.
        value: The number of the metric that decides, or the difference from the baseline, with its interval.
        n_missing: Items without a score, of the model or of the baseline.
        p_corrected: After Holm's correction over all tests of the audit's table, weighted by `TESTED_SHARE`.
        detectable: The smallest distance from neutral (or difference) that this test detects with 80 % power, at the level
            of the first step of the correction. NaN where it is unknown.
        change: Against a baseline, whether the model is closer to neutral than it or further.
        own_value: Against a baseline, the number of the model.
        baseline_value: Against a baseline, the number of the baseline.
        evidence: What calibration showed of the metric for this domain: detects, bounded, undecided or untested.
        effect: How far a planted bias of dose 1 moved the metric, with its interval; NaN if it is untested.
        reason: Why nothing was measured or can be decided; else empty.
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
    own_value: float = math.nan
    baseline_value: float = math.nan
    evidence: str = UNTESTED
    effect: float = math.nan
    effect_low: float = math.nan
    effect_high: float = math.nan
    reason: str = ""

    @property
    def short(self) -> str:
        """The verdict in a few words, without numbers."""
        return WORDS[self.verdict]

    @property
    def words(self) -> str:
        """The verdict as a person reads it, with its reason, its direction or what could have been detected."""
        if self.reason:
            return f"{self.short}: {self.reason}"
        if self.verdict in (NONE, ALIKE):
            return f"{self.short} ({self._detectable_text})"
        if math.isnan(self.baseline_value):
            return self.short
        places = decimals_of(self.measure, self.own_value, self.baseline_value)
        values = f"{number_text(self.baseline_value, places)} → {number_text(self.own_value, places)}"
        if self.verdict in (MORE, LESS):
            nearer = {"closer": "closer to neutral", "further": "further from neutral"}.get(
                self.change, "as far from neutral"
            )
            return f"{self.short} ({nearer}: {values})"
        return f"{self.short} ({values})"

    @property
    def _detectable_text(self) -> str:
        if math.isnan(self.detectable):
            return "what it could have detected is unknown"
        least = number_text(self.detectable, decimals_of(self.measure, self.detectable))
        return f"could have detected {least} or more" + (f" from {self.neutral:g}" if self.verdict == NONE else "")

    @property
    def number(self) -> str:
        """The number behind the verdict, with its interval and p."""
        if math.isnan(self.value):
            return ""
        places = decimals_of(self.measure, self.value, self.low, self.high)
        signed = not math.isnan(self.baseline_value)
        ends = range_text(self.low, self.high, places, signed=signed)
        number = " ".join(filter(None, [number_text(self.value, places, signed=signed), ends]))
        missing = f", {self.n_missing:,} missing" if self.n_missing else ""
        return f"{number}, {p_text(self.p_corrected)}, n = {self.n:,}{missing}"

    @property
    def metric(self) -> str:
        """The metric that decides."""
        group = "" if self.by in (*WHOLE, "all") else f", {self.group}"
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


WORDS = {
    BIAS: "evidence of bias",
    AWAY: "evidence of a lean away from the stereotypes",
    DIFFERS: "evidence of a difference between groups, without a direction",
    NONE: "no evidence",
    MORE: "more stereotypical than the baseline",
    LESS: "less stereotypical than the baseline",
    FARTHER: "further from neutral than the baseline",
    NEARER: "closer to neutral than the baseline",
    ALIKE: "no difference found",
    CANNOT: "the test cannot decide",
    NOT_MEASURED: "not measured",
}


def verdicts_of(
    estimates: pd.DataFrame, model: str, facts: Facts, refine: Refine | None = None, resamples: int = 1000
) -> list[Verdict]:
    """Return a verdict for every deciding test on a model.

    Args:
        estimates: The estimates of a run.
        model: The model that is audited.
        facts: The items and kinds of models, which the evidence is about.
        refine: Computes a p by more resamples, where it is the smallest that the run's number can give.
        resamples: The number of the run.
    """
    return [_verdict(*one) for one in corrected_tests(deciding_tests(estimates, model, facts), refine, resamples)]


def worst_of_verdicts(verdicts: list[Verdict]) -> dict[str, WorstGroups]:
    """Return the worst groups of each benchmark among the deciding tests, with the p of the verdicts."""
    tests: dict[str, list[dict[str, Any]]] = {}
    for one in verdicts:
        if not math.isnan(one.value):
            row = asdict(one) | {"p": one.p_corrected, "p_holm": one.p_corrected}
            tests.setdefault(one.benchmark, []).append(row)
    return {benchmark: worst_of(rows) for benchmark, rows in tests.items()}


def differences_of(
    differences: pd.DataFrame,
    model: str,
    facts: Facts,
    estimates: pd.DataFrame,
    refine: Refine | None = None,
    resamples: int = 1000,
) -> list[Verdict]:
    """Return the verdicts on a model against its baseline: by the tests that decide about the model itself."""
    known = {key_of(row): row for row in differences[differences["model"] == model].to_dict("records")}
    rows, missing = [], []
    for head in deciding_tests(estimates, model, facts):
        row = known.get(key_of(head))
        if row is not None and not math.isnan(row["p"]):
            rows.append(row | {name: head.get(name) for name in ("domain", "kind", "evidence", *EFFECT) if name in head})
        else:
            missing.append(_uncompared(head, row))
    order = {key_of(head): place for place, head in enumerate(deciding_tests(estimates, model, facts))}
    found = [(order[key_of(row)], _against(row, p, level)) for row, p, level in corrected_tests(rows, refine, resamples)]
    return [one for _, one in sorted([*found, *((order[key], one) for key, one in missing)], key=lambda pair: pair[0])]


def overall_of(differences: pd.DataFrame, model: str, facts: Facts) -> list[Verdict]:
    """Return the verdicts on the difference over all items of each benchmark by its primary metric, corrected together."""
    rows = []
    for row in differences[differences["model"] == model].to_dict("records"):
        if row["by"] == "all" and is_primary(row) and not math.isnan(row["p"]):
            data, kind = facts.get((model, str(row["benchmark"])), ("", ""))
            evidence = calibrated(data, kind, (str(row["scorer"]), str(row["measure"])), "")["evidence"]
            family = find_family(str(row["family"]))
            rows.append(row | {"domain": OVERALL, "kind": family.EVIDENCE, "evidence": evidence})
    return [_against(row, p, level) for row, p, level in corrected_tests(rows)]


def _verdict(row: Row, p: float, level: float) -> Verdict:
    measure = catalog.find("measures", str(row["measure"])).spec
    value, neutral = float(row["value"]), float(row["neutral"])
    blank = replace(_blank(row, p, level), value=value, neutral=neutral, detectable=from_neutral(row, level, measure))
    if p < LEVEL:
        decided = replace(blank, verdict=DIFFERS if not measure.leans else BIAS if value > neutral else AWAY)
        return decided if measure.is_one_sided else _with_its_interval(decided)
    room = max(abs(end - neutral) for end in measure.range)
    return _undetected(blank, value - neutral, room)


def _against(row: Row, p: float, level: float) -> Verdict:
    measure = catalog.find("measures", str(row["measure"])).spec
    values: dict[str, Any] = {"own_value": float(row["value"]), "baseline_value": float(row["baseline_value"])}
    difference = float(row["difference"])
    values |= {"detectable": from_baseline(row, level, measure), "change": str(row["change"])}
    blank = replace(_blank(row, p, level), value=difference, neutral=0.0, **values)
    if p < LEVEL:
        leaning, changed = MORE if difference > 0 else LESS, FARTHER if row["change"] == FURTHER else NEARER
        return _with_its_interval(replace(blank, verdict=leaning if measure.leans else changed))
    return _undetected(replace(blank, verdict=ALIKE), difference, measure.range[1] - measure.range[0])


def _with_its_interval(test: Verdict) -> Verdict:
    """Refuse to decide where p is significant and the interval contains neutral: both cannot be right."""
    if test.low <= test.neutral <= test.high:
        reason = HOLDS_NEUTRAL.format(neutral=test.neutral)
        return replace(test, verdict=CANNOT, detectable=math.nan, reason=reason)
    return test


def _undetected(test: Verdict, distance: float, room: float) -> Verdict:
    """Refuse to say "could have detected" where nothing possible, or less than what was seen, would be detected."""
    if test.detectable > room:
        return replace(test, verdict=CANNOT, detectable=math.nan, reason=TOO_FEW.format(n=f"{test.n:,}"))
    if test.detectable <= abs(distance):
        return replace(test, verdict=CANNOT, detectable=math.nan, reason=CONTRARY)
    return test


def _uncompared(head: Row, row: Row | None) -> tuple[tuple[str, ...], Verdict]:
    note = str(row["note"]) if row is not None and row["note"] else "the baseline has no such number"
    blank = _blank(dict(head) | {"n": 0}, math.nan, LEVEL)
    return key_of(head), replace(blank, verdict=NOT_MEASURED, low=math.nan, high=math.nan, reason=note)


def _blank(row: Row, p: float, level: float) -> Verdict:
    effects: dict[str, Any] = {name: float(row.get(name, math.nan)) for name in EFFECT}
    return Verdict(
        str(row["model"]), str(row["domain"]), str(row["kind"]), NONE, str(row["benchmark"]), str(row["scorer"]),
        str(row["measure"]), str(row["by"]), str(row["group"]), low=float(row["low"]), high=float(row["high"]),
        n=int(row["n"]), n_missing=int(row["n_missing"]), p_corrected=float(p), evidence=str(row["evidence"]), **effects,
    )  # fmt: skip
