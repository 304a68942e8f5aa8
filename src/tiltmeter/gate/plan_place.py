"""One number that a rule will be about, before it is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiltmeter.catalog import Entry
from tiltmeter.display import share_text
from tiltmeter.gate.numbers import Number
from tiltmeter.gate.rule import DISTANCE, OWN, Rule
from tiltmeter.stats.direction import best_of, range_of
from tiltmeter.stats.significance import smallest_difference


@dataclass(frozen=True)
class Place:
    """One number that a rule will be about: its group, how many items it will have, and what an earlier run says of it."""

    rule: Rule
    measure: Entry
    group: str
    n: int | None
    number: Number | None = None

    @property
    def best(self) -> float:
        """Value of a model without fault: the best value, no change at all, or the middle of the limits."""
        if self.rule.needs_baseline:
            return 0.0
        best = best_of(self.measure) if self.number is None or math.isnan(self.number.best) else self.number.best
        if not math.isnan(best):
            return best
        ends = [end for end in (self.rule.low, self.rule.high) if math.isfinite(end)]
        return sum(ends) / len(ends) if len(ends) == 2 else ends[0]

    @property
    def limit(self) -> float:
        """The limit that is looked at: the upper one, else the lower one; of a distance, the one within the range."""
        low, high = self.rule.limits(self.best)
        if self.rule.quantity == DISTANCE and high > range_of(self.measure)[1]:
            return low
        return high if math.isfinite(high) else low

    @property
    def breach(self) -> float:
        """A value as far beyond the limit as the best one lies within it, where the range allows."""
        low, high = range_of(self.measure) if self.rule.quantity in OWN else (-math.inf, math.inf)
        return min(max(2 * self.limit - self.best, (low + self.limit) / 2), (high + self.limit) / 2)


def spread_of(place: Place, disagreement: float | None) -> tuple[float | None, str]:
    """The standard deviation of one item, and where it is from."""
    rule, number, whole = place.rule, place.number, place.measure.spec.proportion
    if number is not None:
        error = number.width / (2 * smallest_difference(1.0, rule.confidence, power=0.5))
        return error * math.sqrt(number.n), f"spread of {number.n:,} items of an earlier run"
    if whole is None:
        return None, "its spread is not known beforehand; give an earlier run: tiltmeter check RUN --plan"
    if rule.needs_baseline and disagreement is not None:
        return whole * math.sqrt(disagreement), f"if the models disagree on {share_text(disagreement, 0)} of the items"
    if rule.needs_baseline:
        return whole * math.sqrt(
            0.5
        ), "at most, for two models that have nothing in common; an earlier run gives a better estimate"
    share = min(max(place.breach / whole, 0.05), 0.95)
    low, high = rule.limits(place.best)
    return whole * math.sqrt(max(0.25 if low < whole / 2 < high else 0.0, share * (1 - share))), "a share of items"
