"""Checks that a limit makes sense for its measure, as the measure's own file describes it."""

from __future__ import annotations

import math

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import InputError
from tiltmeter.gate.rule import DISTANCE, VALUE, WORSENING, Rule
from tiltmeter.stats.direction import best_of, distance, range_of, worse_is

LEAST_ROOM = 1e-3
"""A limit must leave at least this share of a measure's range to values that break it."""
LARGEST = 1e6
"""Limits of measures without ends lie below this: a uniform guess over the largest vocabularies has a perplexity of 3e5."""


def check_sense(rule: Rule) -> Entry:
    """Refuses a limit that no value can break, that lies outside the range, or that the best value breaks."""
    measure = catalog.find("measures", rule.measure)
    low, high = range_of(measure)
    spans = f"{rule.text}: {measure.name} ranges from {low:g} to {high:g}"
    _refuse_without_best(rule, measure)
    stated = [abs(limit) for limit in (rule.low, rule.high) if math.isfinite(limit)]
    if math.isinf(high - low) and max(stated) >= LARGEST:
        message = f"{rule.text}: no value of {measure.name} lies beyond {max(stated):g}, so practically no model can fail."
        raise _refused(rule, "cannot-fail", message)
    if rule.pooled and measure.spec.proportion is None:
        raise _refused(
            rule, "pooling-needs-shares", f"{rule.text}: {measure.name} is no share of items, so it is not pooled."
        )
    if rule.needs_baseline:
        if max(_room(rule, measure, baseline) for baseline in (low, high, best_of(measure))) < LEAST_ROOM * (high - low):
            raise _refused(rule, "limit-beyond-range", f"{spans}, so it cannot move that far.")
        return measure
    if rule.quantity == DISTANCE:
        if _room(rule, measure) < LEAST_ROOM * (high - low):
            raise _refused(rule, "cannot-fail", f"{spans}, so practically no model can fail.")
        return measure
    for limit in (rule.low, rule.high):
        if math.isfinite(limit) and not low <= limit <= high:
            raise _refused(rule, "limit-beyond-range", f"{spans}, and {limit:g} lies outside.")
    if _room(rule, measure) < LEAST_ROOM * (high - low):
        raise _refused(rule, "cannot-fail", f"{spans}, so practically no model can fail.")
    if rule.worst or rule.by == "all":  # one group may be a contrast, whose neutral point is known when it is read
        check_best(rule, best_of(measure))
    return measure


def check_baseline(rule: Rule, baseline: float) -> None:
    """Refuse a rule that no model can break against a baseline of this value."""
    measure = catalog.find("measures", rule.measure)
    low, high = range_of(measure)
    if _room(rule, measure, baseline) < LEAST_ROOM * (high - low):
        raise _refused(
            rule, "cannot-fail",
            f"{rule.text}: the baseline is {baseline:g} and {measure.name} ranges from {low:g} to {high:g}, so practically "
            "no model can fail. Limit the value itself.",
        )  # fmt: skip


def _room(rule: Rule, measure: Entry, baseline: float = 0.0) -> float:
    """The length of that part of the measure's range whose values break the rule."""
    low, high = range_of(measure)
    if rule.quantity == DISTANCE:
        least, most = rule.limits(best_of(measure))
    elif rule.quantity == WORSENING:
        reach = distance(measure, baseline) + rule.high
        least, most = best_of(measure) - reach, best_of(measure) + reach
    else:
        least, most = baseline + rule.low, baseline + rule.high
    below, above = (max(0.0, end) if not math.isnan(end) else 0.0 for end in (least - low, high - most))
    return math.inf if math.isinf(high - low) else below + above


def check_best(rule: Rule, best: float) -> None:
    """Refuses a rule that would fail a model without fault."""
    if rule.quantity == VALUE and not math.isnan(best) and not rule.low <= best <= rule.high:
        raise _refused(
            rule,
            "best-value-fails",
            f"{rule.text}: {best:g} is the best value, and the rule would fail a model that has it.",
        )


def _refuse_without_best(rule: Rule, measure: Entry) -> None:
    if rule.quantity == WORSENING and not worse_is(measure):
        raise _refused(
            rule, "no-best-value",
            f"{rule.text}: {measure.name} has no neutral or ideal value, so nothing is worse. Use 'rises at most', "
            "'falls at most' or 'moves at most'.",
        )  # fmt: skip
    if rule.quantity == DISTANCE and math.isnan(best_of(measure)):
        raise _refused(
            rule, "no-best-value",
            f"{rule.text}: {measure.name} has no neutral or ideal value to lie near. State the limits themselves, such as "
            "'shown to be within 1..2'.",
        )  # fmt: skip


def _refused(rule: Rule, reason: str, message: str) -> InputError:
    code = "out-of-range" if reason in ("limit-beyond-range", "cannot-fail", "best-value-fails") else "inapplicable-option"
    return InputError(message, code=code, rule=rule.text, reason=reason)
