"""The numbers that rules are about: found in the estimates or the paired differences, each with an interval."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.errors import InputError, RunError
from tiltmeter.gate.evidence import Evidence, plain
from tiltmeter.gate.rule import OWN, WORSENING, Rule
from tiltmeter.gate.sense import check_baseline, check_best
from tiltmeter.stats.direction import AWAY, best_of, worse_is, worsening
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.pooling import is_poolable, pool_rows, units_of
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings

if TYPE_CHECKING:
    import pandas as pd

MOST_LISTED = 8
TAIL_DRAWS = 10
"""An interval's end needs some draws beyond it: the more numbers are corrected for, the more draws are made."""
MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Number:
    """One number with its interval, in the terms of the rule: a value, a change, or how much worse than the baseline."""

    group: str
    n: int
    value: float
    low: float
    high: float
    missing: float = 0.0
    """The share of scores that are missing, of the model or of the baseline, whichever lacks more, with rows of the
    benchmark that could not be read and items without any row of answers."""
    tied: float = 0.0
    """The share of items with two equal scores, of the model or of the baseline: they show no preference."""
    best: float = math.nan
    """The value of a model without fault: the neutral point of this row, or the measure's ideal."""
    units: int = 0
    """Number of independent units among the n items: clusters where the benchmark has them."""
    width: float = math.nan
    """The width of the interval of the value or of the difference from the baseline."""
    baseline: float = math.nan
    """The value of the baseline, where the rule compares with one."""
    reasons: str = ""
    """Why scores are missing, with their counts."""


def corrected(confidence: float, numbers: int) -> float:
    """Bonferroni's correction: the confidence of each of several intervals, so that all hold together."""
    return 1 - (1 - confidence) / numbers


def numbers_of(evidence: Evidence, rules: Sequence[Rule], together: int = 1) -> dict[tuple[Rule, str], tuple[Number, ...]]:
    """Every rule's numbers of every model that it is about, with intervals corrected for so many `together`."""
    found = {}
    for confidence in dict.fromkeys(rule.confidence for rule in rules):
        alike = [rule for rule in rules if rule.confidence == confidence]
        settings = _settings(evidence.settings, corrected(confidence, together), together / (1 - confidence))
        tables = _Tables(evidence, alike, settings)
        for rule in alike:
            for model in [rule.model] if rule.model else evidence.models:
                found[rule, model] = tables.numbers(rule, model)
    return {(rule, model): found[rule, model] for rule in rules for model in evidence.models if (rule, model) in found}


def refuse_unfounded(evidence: Evidence, places: Collection[tuple[Rule, str, str]]) -> None:
    """Refuse numbers that no verdict may rest on: without value or interval, or of ties alone.

    Args:
        evidence: The answers that were read.
        places: Rules, models and groups whose numbers have a verdict.
    """
    rules = list(dict.fromkeys(rule for rule, _, _ in places))
    tables = _Tables(evidence.for_rules(rules), rules, replace(evidence.settings, resamples=MINIMUM_RESAMPLES))
    for rule, model, group in places:
        tables.numbers(rule, model, group)


def _settings(base: Settings, confidence: float, tails: float) -> Settings:
    draws = min(MOST_DRAWS, math.ceil(2 * TAIL_DRAWS * tails))
    return replace(base, resamples=max(base.resamples, draws), confidence=confidence)


class _Tables:
    """The estimates and differences that some rules of one confidence read."""

    def __init__(self, evidence: Evidence, rules: Sequence[Rule], settings: Settings) -> None:
        compared = [rule for rule in rules if rule.needs_baseline]
        apart = [rule for rule in rules if not rule.needs_baseline or _is_distance(rule)]
        self.baseline = evidence.baseline
        self.unread = {
            (rule, model): max(evidence.unread(rule, one) for one in (model, evidence.baseline) if one)
            for rule in rules
            for model in evidence.models
        }
        self.confidence = settings.confidence
        self.estimates = evidence.estimates(apart, settings) if apart else None
        self.differences = evidence.differences(compared, settings) if compared else None
        few = replace(settings, resamples=MINIMUM_RESAMPLES)
        self.counts = evidence.estimates(compared, few) if compared else None
        """Estimates of both models, for what is missing: a comparison counts only items that both models answered."""

    def numbers(self, rule: Rule, model: str, group: str | None = None) -> tuple[Number, ...]:
        """The numbers of one rule for one model: one, or one for each group of a column (or for `group` alone)."""
        rows = _rows(self.estimates if rule.quantity in OWN else self.differences, rule, model)
        if rule.pooled:
            rows = self._pooled(rule, model)
        kept = rows if group is None else [row for row in rows if plain(str(row["group"])) == plain(group)]
        return tuple(self._number(rule, model, row) for row in kept)

    def _pooled(self, rule: Rule, model: str) -> list[Any]:
        """The rows of a rule with pooled values and intervals; all groups of the column are pooled, also for one of them."""
        rows = _rows(self.estimates, replace(rule, worst=True), model)
        whole = catalog.find("measures", rule.measure).spec.proportion
        if whole is None or not is_poolable(rows):
            message = f"{rule.text}: pooling needs at least 3 groups of {rule.by}, each with a value and an interval."
            raise RunError(message, code="too-few", rule=rule.text, by=rule.by, reason="too-few-groups")
        changed = []
        for row, ends in zip(rows, pool_rows(rows, whole, self.confidence), strict=True):
            copy = row.copy()
            copy["value"], copy["low"], copy["high"] = ends
            changed.append(copy)
        return [row for row in changed if rule.worst or plain(str(row["group"])) == plain(rule.group)]

    def _number(self, rule: Rule, model: str, row: Any) -> Number:
        column = "difference" if rule.needs_baseline else "value"
        best = best_of(catalog.find("measures", rule.measure))
        if not rule.needs_baseline and catalog.find("measures", rule.measure).spec.ideal is None:
            best = float(row["neutral"])
            check_best(rule, best)
        ends = (float(row[column]), float(row["low"]), float(row["high"]))
        if not all(map(math.isfinite, ends)):
            what = "no value" if not math.isfinite(ends[0]) else "no interval"
            why = f": {row['note']}" if row["note"] else ""
            group = f" in {row['group']}" if rule.worst else ""
            message = f"{rule.text}: {model} has {what}{group}, so the rule cannot be judged{why}."
            raise RunError(message, code="undefined-result", rule=rule.text, model=model, reason=what.replace(" ", "-"))
        if rule.quantity == WORSENING:
            ends = self._worsening(rule, model, row)
        sides = self._sides(rule, model, row) if rule.needs_baseline else [row]
        if any(0 < int(one["n"]) == int(one["n_ties"]) for one in sides):
            message = f"{rule.text}: every pair has two equal scores, so the rule cannot be judged."
            raise RunError(message, code="undefined-result", rule=rule.text, model=model, reason="all-tied")
        missing = 1 - (1 - max(map(_missing, [row, *sides]))) * (1 - self.unread[rule, model])
        tied = max(int(one["n_ties"]) / max(int(one["n"]), 1) for one in sides)
        width, baseline = float(row["high"]) - float(row["low"]), float(row.get("baseline_value", math.nan))
        units = min(map(units_of, [row, *sides]))
        return Number(str(row["group"]), int(row["n"]), *ends, missing, tied, best, units, width, baseline, _reasons(sides))

    def _sides(self, rule: Rule, model: str, row: Any) -> list[Any]:
        """The estimates of the model and of the baseline that a difference is between."""
        pair = [_same_group(_rows(self.counts, rule, name), row) for name in (model, self.baseline)]
        if pair[1] is not None and _is_plain(pair[1], rule):
            check_baseline(rule, float(row["baseline_value"]))
        return [one for one in pair if one is not None]

    def _worsening(self, rule: Rule, model: str, row: Any) -> tuple[float, float, float]:
        """Return the worsening against the baseline; intervals of both models are read only where distances count."""
        measure = catalog.find("measures", rule.measure)
        values = (float(row["value"]), float(row["baseline_value"]))
        ends = [(value, value) for value in values]
        if _is_distance(rule):
            pair = [self._estimate(rule, name, row) for name in (model, self.baseline)]
            moved = [value - float(one["value"]) for value, one in zip(values, pair, strict=True)]  # other items
            ends = [(float(one["low"]) + by, float(one["high"]) + by) for one, by in zip(pair, moved, strict=True)]
        return worsening(measure, values, (float(row["low"]), float(row["high"])), (ends[0], ends[1]))

    def _estimate(self, rule: Rule, model: str, row: Any) -> Any:
        same = _same_group(_rows(self.estimates, rule, model), row)
        if same is None or not math.isfinite(same["low"]):
            why = f": {same['note']}" if same is not None else ""
            message = f"{rule.text}: {model} has no interval, so the rule cannot be judged{why}."
            raise RunError(message, code="undefined-result", rule=rule.text, model=model, reason="no-interval")
        return same


def _same_group(rows: Sequence[Any], row: Any) -> Any:
    return next((one for one in rows if one["group"] == row["group"]), None)


def _missing(row: Any) -> float:
    return int(row["n_missing"]) / max(int(row["n"]) + int(row["n_missing"]), 1)


def _reasons(rows: Sequence[Any]) -> str:
    """Why scores are missing in the row that lacks most."""
    stated = str(max(rows, key=_missing).get("missing", "") or "") if rows else ""
    counts = json.loads(stated) if stated.startswith("{") else {}
    return ", ".join(f"{reason} ({count:,})" for reason, count in counts.items())


def _is_plain(row: Any, rule: Rule) -> bool:
    """Return True unless a row is a contrast of two groups, which has a neutral point and a range of its own."""
    neutral = neutral_of(catalog.find("measures", rule.measure))
    return math.isnan(neutral) or row["neutral"] == neutral


def _is_distance(rule: Rule) -> bool:
    return rule.quantity == WORSENING and worse_is(catalog.find("measures", rule.measure)) == AWAY


def _rows(table: pd.DataFrame | None, rule: Rule, model: str) -> list[Any]:
    assert table is not None
    here = table[(table["benchmark"] == rule.benchmark) & (table["model"] == model)]
    if not len(here):
        raise _unanswered(rule, model)
    of_measure = here[here["measure"] == rule.measure]
    _refuse_none(of_measure, rule, f"{rule.measure} cannot be computed from {rule.benchmark} for {model}")
    asked = of_measure[of_measure["scorer"] == rule.scorer]
    lacks = f"{model} has no {rule.measure} by {rule.scorer} on {rule.benchmark}"
    _refuse_none(asked, rule, lacks, "Scorers", of_measure["scorer"])
    grouped = asked[asked["by"] == rule.by]
    places = asked["by"] + "=" + asked["group"]
    lacking = "an overall value" if rule.by == "all" else f"the column '{rule.by}'"
    _refuse_none(grouped, rule, f"{rule.measure} of {rule.benchmark} does not have {lacking}", "Groups", places)
    if rule.worst:
        return [row for _, row in grouped.iterrows() if "neutral" not in row or _is_plain(row, rule)]
    named = grouped[[plain(str(group)) == plain(rule.group) for group in grouped["group"]]]
    _refuse_none(named, rule, f"{rule.benchmark} has no {rule.by} '{rule.group}'", "Groups", grouped["group"])
    return [row for _, row in named.iterrows()]


def _unanswered(rule: Rule, model: str) -> InputError:
    """The error of a rule about a model without these answers, with the rule that leaves the model out."""
    reads = _kind_read(rule.scorer)
    why = f" {rule.scorer} reads {reads} models; if {model} is not one, no run can add it." if reads else ""
    message = (
        f"{rule.text}: {model} has no answers to {rule.benchmark} by {rule.scorer}.{why} No rule was decided. To check "
        'other models only, name one after the limit, such as "within 45..55 for my-model".'
    )
    return InputError(message, code="unknown-name", rule=rule.text, kind="answers", names=[], model=model, reads=reads)


def _kind_read(scorer: str) -> str:
    """The kind of model that a scorer reads, such as masked; empty for a scorer of no catalog."""
    if scorer not in catalog.names("scorers"):
        return ""
    from tiltmeter.probes import VIEWS

    return VIEWS[catalog.find("scorers", scorer).scorer.view].kind


def _refuse_none(rows: pd.DataFrame, rule: Rule, why: str, what: str = "", there: Any = ()) -> None:
    if len(rows):
        return
    known = list(dict.fromkeys(map(str, there)))
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    listed = f" {what} there: {', '.join(known[:MOST_LISTED])}{more}." if known else ""
    raise InputError(
        f"{rule.text}: {why}.{listed}", code="unknown-name", rule=rule.text, kind=what.lower() or "answers", names=known
    )
