"""Whether a limit makes sense for its measure, as the measure's own file describes it."""

from __future__ import annotations

import math

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.rule import VALUE, WORSENING, Rule
from tiltmeter.stats.direction import best_of, range_of, worse_is


def check_sense(rule: Rule) -> Entry:
    """Refuses a limit that no value can break, that lies outside the range, or that the best value breaks."""
    measure = catalog.find("measures", rule.measure)
    low, high = range_of(measure)
    spans = f"{rule.text}: {measure.name} ranges from {low:g} to {high:g}"
    if rule.quantity == WORSENING and not worse_is(measure):
        raise TiltmeterError(
            f"{rule.text}: {measure.name} has no neutral or ideal value, so nothing is worse. Use 'rises at most', "
            "'falls at most' or 'moves at most'."
        )
    finite = [limit for limit in (rule.low, rule.high) if math.isfinite(limit)]
    if rule.quantity != VALUE:
        if max(map(abs, finite)) >= high - low:
            raise TiltmeterError(f"{spans}, so it cannot move that far.")
        return measure
    for limit in finite:
        if not low <= limit <= high:
            raise TiltmeterError(f"{spans}, and {limit:g} lies outside.")
    if rule.low <= low and rule.high >= high:
        raise TiltmeterError(f"{spans}, so no model can fail.")
    if rule.worst or rule.by == "all":  # one group may be a contrast, whose neutral point is known when it is read
        check_best(rule, best_of(measure))
    return measure


def check_best(rule: Rule, best: float) -> None:
    """Refuses a rule that would fail a model without fault."""
    if rule.quantity == VALUE and not math.isnan(best) and not rule.low <= best <= rule.high:
        raise TiltmeterError(f"{rule.text}: {best:g} is the best value, and the rule would fail a model that has it.")
