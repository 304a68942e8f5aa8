"""Before a run: the chances of every rule, for a model without fault, at the limit and beyond it, and the items needed.

The spread is known beforehand for a measure that counts items (a share p of n items varies by √(p(1 − p)/n)). For others,
an earlier run of any model shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.items import group_column, items_table
from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.chances import Chances, all_of, pooled_chances
from tiltmeter.gate.decision import POWER
from tiltmeter.gate.evidence import Evidence, plain
from tiltmeter.gate.numbers import numbers_of
from tiltmeter.gate.plan_place import Place, spread_of
from tiltmeter.gate.power import chances_at
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.sense import check_sense

MOST_ITEMS = 10_000_000
TOGETHER = "all groups"
UNKNOWN = Chances()
CHANCES = ("neutral", "at_limit", "beyond")
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
        """Return yes if both chances are adequate with the items that are there; unknown where one is unknown."""
        chances = (self.neutral.passes, self.beyond.fails)
        if self.there is not None and not any(map(math.isnan, chances)):
            return "yes" if min(chances) >= POWER and self.there >= self.rule.least_n else "no"
        if self.needed is None or self.there is None:
            return "unknown"
        return "yes" if self.there >= self.needed else "no"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        names = ("group", "best", "limit", "breach", "passes", "fails", "needed", "there", "enough", "limit_items", "note")
        chances = {name: getattr(self, name).to_dict() for name in CHANCES}
        return {"rule": self.rule.text, **{name: getattr(self, name) for name in names}, **chances}


def plan(
    rules: Sequence[Rule], evidence: Evidence | None = None, *, disagreement: float | None = None, together: bool = True
) -> list[Plan]:
    """Plan each rule; a rule about every group of a column gets a row for each group and one for all of them.

    Args:
        rules: The rules.
        evidence: An earlier run of any model, which shows spreads, groups and how far two models agree.
        disagreement: Share of items on which a model and its baseline are expected to disagree, where no run shows it.
        together: Correct failing for all numbers of all rules and models, as a check does.
    """
    found = [_places(rule, evidence) for rule in rules]
    places = [place for ours, _ in found for place in ours]
    count = sum(numbers for _, numbers in found) if together else 1
    plans = []
    for rule in rules:
        ours = [place for place in places if place.rule == rule]
        rows = [_plan(place, count, disagreement) for place in ours]
        whole = [_together(rows, ours, count, disagreement)] if rule.worst and len(rows) > 1 else []
        plans += whole if rule.pooled and whole else [*rows, *whole]
    return plans


def _places(rule: Rule, evidence: Evidence | None) -> tuple[list[Place], int]:
    """Return what one model is checked on, and how many numbers a check of all models of the run compares."""
    measure = check_sense(rule)
    if evidence is not None:
        known = list(numbers_of(evidence.for_rules([rule]), [replace(rule, pooled=False)]).values())
        places = [Place(rule, measure, number.group, number.n, number) for number in known[0]]  # any model tells the spread
        return places, sum(map(len, known))
    sizes = group_sizes(rule) or {"each group" if rule.worst else rule.group: None}
    places = [Place(rule, measure, group, n) for group, n in sizes.items()]
    return places, len(places)


def _plan(place: Place, together: int, disagreement: float | None) -> Plan:
    rule = place.rule
    spread, note = spread_of(place, disagreement)
    passes = fails = None
    chances: Three = (UNKNOWN, UNKNOWN, UNKNOWN)
    if spread is not None and not rule.pooled:
        best, breach = (partial(_at, place, at, spread, together) for at in (place.best, place.breach))
        passes = items_for(lambda n: best(n).passes if n >= rule.least_n else 0.0, place.n)
        fails = items_for(lambda n: breach(n).fails, place.n)
        if place.n is not None:
            chances = (best(place.n), _at(place, place.limit, spread, together, place.n), breach(place.n))
    whole = place.measure.spec.proportion
    items = abs(place.limit - place.best) / whole * place.n if whole and place.n else None
    return Plan(
        rule, place.group, place.best, place.limit, place.breach, *chances, passes, fails, place.n, items,
        spread is not None, note,
    )  # fmt: skip


def _together(rows: Sequence[Plan], places: Sequence[Place], together: int, disagreement: float | None) -> Plan:
    """The row of a rule about every group: a model all of whose groups are neutral, at the limit, or beyond it."""
    first, rule = rows[0], rows[0].rule
    sizes = [place.n for place in places if place.n is not None]
    there = min(sizes) if len(sizes) == len(places) else None
    truths = (first.best, first.limit, first.breach)
    passes = fails = None
    chances: Three = (UNKNOWN, UNKNOWN, UNKNOWN)
    note = "every group at this value"
    if there is not None and first.spread_known:
        whole = places[0].measure.spec.proportion
        if rule.pooled and whole is not None:
            best, limit, breach = (
                pooled_chances(rule, rule.limits(first.best), truth, whole, sizes, together) for truth in truths
            )
            chances, note = (best, limit, breach), f"{note}, simulated; the items needed are not known"
        else:
            best, limit, breach = (all_of([getattr(row, name) for row in rows]) for name in CHANCES)
            chances, note = (best, limit, breach), f"{note}; items: of the smallest group, if all groups grow alike"
            grown = partial(_grown, places, disagreement, together)
            passes = items_for(lambda n: grown("best", n / there).passes if n >= rule.least_n else 0.0, there)
            fails = items_for(lambda n: grown("breach", n / there).fails, there)
    return Plan(
        rule, TOGETHER, *truths, *chances, passes, fails, there, None, first.spread_known, note,
    )  # fmt: skip


def _at(place: Place, truth: float, spread: float, together: int, n: int) -> Chances:
    return chances_at(replace(place, n=n), truth, spread, together)


def _grown(places: Sequence[Place], disagreement: float | None, together: int, truth: str, factor: float) -> Chances:
    """Chances of a rule about every group if all groups have so many times the items."""
    spreads = [spread_of(place, disagreement)[0] or 0.0 for place in places]
    return all_of(
        [
            _at(place, getattr(place, truth), spread, together, max(2, round(factor * (place.n or 0))))
            for place, spread in zip(places, spreads, strict=True)
        ]
    )


def items_for(chance: Callable[[int], float], there: int | None = None) -> int | None:
    """The fewest items that give a chance of 80 %; None if no number of them does.

    An exact chance rises in steps and falls a little between them. `there` items count as enough if their chance is, and a
    smaller number is searched below them, else above them.
    """
    low = 1
    high = there if there is not None and there > 1 else 2
    while chance(high) < POWER:
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high


def group_sizes(rule: Rule) -> dict[str, int | None]:
    """Count the items of the rule's groups; empty where the benchmark or the column cannot be read here."""
    try:
        benchmark = load_benchmark(rule.benchmark)
        table = items_table(replace(benchmark, items=benchmark.asked_items))
        labels = ["all"] * len(table) if rule.by == "all" else group_column(table, list(table["item"]), rule.by)
    except TiltmeterError:
        return {}
    named = [label for label in labels if label is not None and (rule.worst or plain(label) == plain(rule.group))]
    return {name: named.count(name) for name in sorted(set(named))}
