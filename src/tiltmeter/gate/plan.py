"""Before a run: how many items a rule needs to be decided, for a model without fault and for one that breaks it.

The spread is known beforehand for a measure that counts items (a share p of n items varies by √(p(1 − p)/n)). For others,
an earlier run of any model tells it. Chances are those of a normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.evidence import Evidence
from tiltmeter.gate.judge import POWER
from tiltmeter.gate.numbers import Number, corrected, numbers_of
from tiltmeter.gate.rule import VALUE, Rule
from tiltmeter.gate.sense import check_sense
from tiltmeter.stats.direction import best_of, range_of
from tiltmeter.stats.significance import smallest_difference

MOST_ITEMS = 10_000_000


@dataclass(frozen=True)
class Plan:
    """What a rule needs: `passes` items for a model at `best` to pass 80 times in 100, `fails` for one at `breach` to fail.

    None where the spread is unknown. `there` is how many items the benchmark has, None where it is not at hand.
    """

    rule: Rule
    group: str
    best: float
    breach: float
    passes: int | None
    fails: int | None
    there: int | None
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
        """Whether the benchmark has enough items."""
        if self.needed is None or self.there is None:
            return "unknown"
        return "yes" if self.there >= self.needed else "no"


def plan(rules: Sequence[Rule], evidence: Evidence | None = None) -> list[Plan]:
    """A plan for each rule, or for each group of a column where an earlier run names them."""
    entries = {rule: check_sense(rule) for rule in rules}
    known = numbers_of(evidence.for_rules(rules), rules) if evidence is not None else {}
    places = [(rule, number) for rule in rules for number in _first(known, rule) or (None,)]
    return list(_plans(places, entries))


def _first(known: dict[tuple[Rule, str], tuple[Number, ...]], rule: Rule) -> tuple[Number, ...]:
    """The numbers of the first model: any model tells the spread."""
    return next((numbers for (of, _), numbers in known.items() if of == rule), ())


def _plans(places: Sequence[tuple[Rule, Number | None]], entries: dict[Rule, Entry]) -> Iterator[Plan]:
    for rule, number in places:
        measure = entries[rule]
        best = _best(rule, measure)
        breach = _breach(rule, measure, best)
        spread, note = _spread(rule, measure, number, breach)
        group = number.group if number is not None else "each group" if rule.worst else rule.group
        passes = fails = None
        if spread is not None:
            level = corrected(rule.confidence, len(places))
            passes = items_for(partial(_at, chance_to_pass, rule, best, spread))
            fails = items_for(partial(_at, partial(chance_to_fail, confidence=level), rule, breach, spread))
        there = number.n if number is not None else _items_there(rule)
        yield Plan(rule, group, best, breach, passes, fails, there, spread is not None, note)


def _best(rule: Rule, measure: Entry) -> float:
    """Where a model without fault lies: the best value, no change at all, or the middle of the limits."""
    if rule.quantity != VALUE:
        return 0.0
    best = best_of(measure)
    if not math.isnan(best):
        return best
    ends = [end for end in (rule.low, rule.high) if math.isfinite(end)]
    return sum(ends) / len(ends) if len(ends) == 2 else ends[0]


def _breach(rule: Rule, measure: Entry, best: float) -> float:
    """A value as far beyond the limit as the best one lies within it, where the range allows."""
    limit = rule.high if math.isfinite(rule.high) else rule.low
    low, high = range_of(measure) if rule.quantity == VALUE else (-math.inf, math.inf)
    return min(max(2 * limit - best, (low + limit) / 2), (high + limit) / 2)


def _spread(rule: Rule, measure: Entry, number: Number | None, breach: float) -> tuple[float | None, str]:
    """The standard deviation of one item, and where it is from."""
    if number is not None:
        error = (number.high - number.low) / (2 * smallest_difference(1.0, rule.confidence, power=0.5))
        return error * math.sqrt(number.n), f"spread of {number.n:,} items of an earlier run"
    whole = measure.spec.proportion
    if whole is None:
        return None, "its spread is not known beforehand; give an earlier run: tiltmeter check RUN --plan"
    if rule.needs_baseline:
        return whole * math.sqrt(0.5), "at most, for two models that have nothing in common; an earlier run tells better"
    share = min(max(breach / whole, 0.05), 0.95)
    return whole * math.sqrt(max(0.25 if rule.low < whole / 2 < rule.high else 0.0, share * (1 - share))), "a share of items"


def _at(chance: Callable[[Rule, float, float], float], rule: Rule, value: float, spread: float, n: int) -> float:
    return chance(rule, value, spread / math.sqrt(n))


def chance_to_pass(rule: Rule, value: float, error: float) -> float:
    """The chance that the interval of a model at this value lies within the limits."""
    from scipy.stats import norm

    reach = smallest_difference(1.0, rule.confidence, power=0.5)
    above, below = ((rule.high - value) / error - reach, (value - rule.low) / error - reach)
    return max(0.0, float(norm.cdf(above) - norm.cdf(-below)))


def chance_to_fail(rule: Rule, value: float, error: float, confidence: float) -> float:
    """The chance that the corrected interval of a model at this value lies wholly outside the limits."""
    from scipy.stats import norm

    reach = smallest_difference(1.0, confidence, power=0.5)
    return float(norm.cdf((value - rule.high) / error - reach) + norm.cdf((rule.low - value) / error - reach))


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


def _items_there(rule: Rule) -> int | None:
    """How many items the benchmark has, or the group; None where it cannot be read here."""
    if rule.worst:
        return None
    try:
        items = load_benchmark(rule.benchmark).asked_items
    except TiltmeterError:
        return None
    if rule.by == "all":
        return len(items)
    named = [item for item in items if str(getattr(item, rule.by, item.extra.get(rule.by))) == rule.group]
    return len(named) or None
