"""Before a run: the chances of every rule, for a model without fault, at the limit and beyond it, and the items needed.

The spread is known beforehand for a measure that counts items (a share p of n items varies by √(p(1 − p)/n)). For others,
an earlier run of any model shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.items import group_column, items_table
from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.chances import (
    MOST_EXACT,
    Chances,
    all_of,
    distance_chances,
    normal_chances,
    pooled_chances,
    share_chances,
)
from tiltmeter.gate.evidence import Evidence, plain
from tiltmeter.gate.judge import POWER
from tiltmeter.gate.numbers import numbers_of
from tiltmeter.gate.plan_place import Place, spread_of
from tiltmeter.gate.rule import OWN, WORSENING, Rule
from tiltmeter.gate.sense import check_sense
from tiltmeter.stats.direction import AWAY, best_of, worse_is

MOST_ITEMS = 10_000_000
TOGETHER = "all groups"
UNKNOWN = Chances()
Three = tuple[Chances, Chances, Chances]


@dataclass(frozen=True)
class Plan:
    """Power of a rule: chances for models at `best`, at `limit` and at `breach`, and the items it needs.

    `passes` items let a model at `best` pass 80 times in 100, `fails` items let one at `breach` fail. None where the spread
    is unknown. `there` is how many items the benchmark has, None where it is not at hand; `limit_items` how many of them
    lie between the best value and the limit, for a measure that is a share of items.
    """

    rule: Rule
    group: str
    best: float
    limit: float
    breach: float
    neutral: Chances
    at_limit: Chances
    beyond: Chances
    passes: int | None
    fails: int | None
    there: int | None
    limit_items: float | None
    spread_known: bool
    note: str

    @property
    def needed(self) -> int | None:
        """Items for both, and at least the rule's own least n."""
        if self.passes is None or self.fails is None:
            return None
        return max(self.passes, self.fails, self.rule.least_n)

    @property
    def enough(self) -> str:
        """True if the benchmark has enough items."""
        if self.needed is None or self.there is None:
            return "unknown"
        return "yes" if self.there >= self.needed else "no"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        names = ("group", "best", "limit", "breach", "passes", "fails", "needed", "there", "enough", "limit_items", "note")
        chances = {name: getattr(self, name).to_dict() for name in ("neutral", "at_limit", "beyond")}
        return {"rule": self.rule.text, **{name: getattr(self, name) for name in names}, **chances}


def plan(
    rules: Sequence[Rule], evidence: Evidence | None = None, *, disagreement: float | None = None, together: bool = True
) -> list[Plan]:
    """Plan each rule; a rule about every group of a column gets a row for each group and one for all of them.

    Args:
        rules: The rules.
        evidence: An earlier run of any model, which shows spreads, groups and how far two models agree.
        disagreement: Share of items on which a model and its baseline are expected to disagree, where no run shows it.
        together: Correct failing for all numbers of all rules, as a check does.
    """
    places = [place for rule in rules for place in _places(rule, evidence)]
    count = len(places) if together else 1
    plans = []
    for rule in rules:
        ours = [place for place in places if place.rule == rule]
        rows = [_plan(place, count, disagreement) for place in ours]
        whole = [_together(rows, ours, count)] if rule.worst and len(rows) > 1 else []
        plans += whole if rule.pooled and whole else [*rows, *whole]
    return plans


def _places(rule: Rule, evidence: Evidence | None) -> Iterator[Place]:
    measure = check_sense(rule)
    if evidence is not None:
        known = numbers_of(evidence.for_rules([rule]), [replace(rule, pooled=False)])
        for number in next(iter(known.values())):  # any model tells the spread
            yield Place(rule, measure, number.group, number.n, number)
        return
    sizes = _sizes(rule)
    for group, n in sizes.items() if sizes else [("each group" if rule.worst else rule.group, None)]:
        yield Place(rule, measure, group, n)


def _plan(place: Place, together: int, disagreement: float | None) -> Plan:
    rule = place.rule
    spread, note = spread_of(place, disagreement)
    passes = fails = None
    chances: Three = (UNKNOWN, UNKNOWN, UNKNOWN)
    if spread is not None:
        chance = partial(_normal, place, spread, together)
        passes = items_for(lambda n: chance(place.best, n).passes if n >= rule.least_n else 0.0)
        fails = items_for(lambda n: chance(place.breach, n).fails)
        if place.n is not None and not rule.pooled:
            best, limit, breach = (_chances(place, at, spread, together) for at in (place.best, place.limit, place.breach))
            chances = (best, limit, breach)
    whole = place.measure.spec.proportion
    items = abs(place.limit - place.best) / whole * place.n if whole and place.n else None
    return Plan(
        rule, place.group, place.best, place.limit, place.breach, *chances, passes, fails, place.n, items,
        spread is not None, note,
    )  # fmt: skip


def _together(rows: Sequence[Plan], places: Sequence[Place], together: int) -> Plan:
    """The row of a rule about every group: a model all of whose groups are neutral, at the limit, or beyond it."""
    first, rule = rows[0], rows[0].rule
    whole, sizes = places[0].measure.spec.proportion, [place.n for place in places]
    if rule.pooled and whole is not None and None not in sizes:
        n = [size for size in sizes if size is not None]
        limits = rule.limits(first.best)
        truths = (first.best, first.limit, first.breach)
        best, limit, breach = (pooled_chances(rule, limits, truth, whole, n, together) for truth in truths)
    else:
        best, limit, breach = (all_of([getattr(row, name) for row in rows]) for name in ("neutral", "at_limit", "beyond"))
    needed = [row.needed for row in rows]
    most = None if None in needed else max(n for n in needed if n is not None)
    note = "every group at this value; items: those of the group that needs most"
    there = None if None in sizes else min(n for n in sizes if n is not None)
    return Plan(
        rule,
        TOGETHER,
        first.best,
        first.limit,
        first.breach,
        best,
        limit,
        breach,
        most,
        most,
        there,
        None,
        first.spread_known,
        note,
    )


def _chances(place: Place, truth: float, spread: float, together: int) -> Chances:
    """Chances of a number with the items that are there."""
    rule, n = place.rule, int(place.n or 0)
    whole = place.measure.spec.proportion
    limits = rule.limits(place.best)
    clustered = place.number is not None and place.number.units < place.number.n
    if rule.quantity in OWN and whole is not None and n <= MOST_EXACT and not clustered:
        return share_chances(rule, limits, truth, whole, n, together)
    if rule.quantity == WORSENING and worse_is(place.measure) == AWAY and place.number is not None and whole is not None:
        return _worsening(place, truth, spread, together)
    limits = limits if whole is None else _between_steps(limits, whole / n)
    return normal_chances(rule, limits, truth, spread / math.sqrt(n), together)


def _between_steps(limits: tuple[float, float], step: float) -> tuple[float, float]:
    """Move limits to the middle between the two possible values around them: shares of items change in steps."""
    low, high = limits
    return (
        step * (math.ceil(low / step) - 0.5) if math.isfinite(low) else low,
        step * (math.floor(high / step) + 0.5) if math.isfinite(high) else high,
    )


def _worsening(place: Place, truth: float, spread: float, together: int) -> Chances:
    """Chances of being farther from neutral than the baseline of an earlier run by `truth`."""
    assert place.number is not None
    whole, best = float(place.measure.spec.proportion or 1.0), best_of(place.measure)
    theirs = place.number.baseline
    ours = theirs + (truth if theirs >= best else -truth)
    root = math.sqrt(int(place.n or 0))
    errors = [whole * math.sqrt(max(share * (1 - share), 0.0)) / root for share in (ours / whole, theirs / whole)]
    return distance_chances(place.rule, best, (ours, theirs), (errors[0], errors[1], spread / root), together)


def _normal(place: Place, spread: float, together: int, truth: float, n: int) -> Chances:
    return normal_chances(place.rule, place.rule.limits(place.best), truth, spread / math.sqrt(n), together)


def items_for(chance: Callable[[int], float]) -> int | None:
    """The fewest items that give a chance of 80 %; None if no number of them does."""
    high = 2
    while chance(high) < POWER:
        high *= 2
        if high > MOST_ITEMS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high


def _sizes(rule: Rule) -> dict[str, int]:
    """Count the items of the rule's groups; empty where the benchmark or the column cannot be read here."""
    try:
        benchmark = load_benchmark(rule.benchmark)
        table = items_table(replace(benchmark, items=benchmark.asked_items))
        labels = ["all"] * len(table) if rule.by == "all" else group_column(table, list(table["item"]), rule.by)
    except TiltmeterError:
        return {}
    named = [label for label in labels if label is not None and (rule.worst or plain(label) == plain(rule.group))]
    return {name: named.count(name) for name in sorted(set(named))}
