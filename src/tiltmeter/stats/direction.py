"""Better and worse: where the best value of a measure lies, and how much farther from it one value is than another.

A measure's own file says it: `ideal`, else `neutral`, is the best value, and `range` has the ends of what is possible.
"""

from __future__ import annotations

import math

from tiltmeter.catalog import Entry
from tiltmeter.catalog.declarations import EVERYWHERE

UP, DOWN, AWAY = "up", "down", "away"
"""Where worse lies: higher, lower, or farther from neutral on either side."""
Ends = tuple[float, float]


def range_of(measure: Entry) -> Ends:
    """The ends of what is possible: the range, or 0 and the whole of a proportion."""
    whole = measure.spec.proportion
    return (0.0, whole) if whole is not None and measure.spec.range == EVERYWHERE else measure.spec.range


def best_of(measure: Entry) -> float:
    """The value of a model without fault: the ideal, else neutral; NaN where a measure has neither."""
    best = measure.spec.ideal
    best = measure.spec.neutral if best is None else best
    return math.nan if best is None else float(best)


def worse_is(measure: Entry) -> str:
    """Where worse values lie; empty where a measure knows no better and worse."""
    best, (low, high) = best_of(measure), range_of(measure)
    if math.isnan(best):
        return ""
    return UP if best == low else DOWN if best == high else AWAY


def distance(measure: Entry, value: float) -> float:
    """Distance of a value from the best one."""
    return abs(value - best_of(measure))


def farther(difference: Ends, total: Ends) -> Ends:
    """The ends of |u| − |v|, given those of u − v and of u + v.

    >>> farther((1.0, 3.0), (8.0, 10.0)), farther((-1.0, 1.0), (-1.0, 1.0))
    ((1.0, 3.0), (-1.0, 1.0))
    """
    low = min(max(difference[0], -total[1]), max(-difference[1], total[0]))
    high = max(min(difference[1], total[1]), min(-difference[0], -total[0]))
    return low, high


def worsening(measure: Entry, values: Ends, difference: Ends, ends: tuple[Ends, Ends]) -> tuple[float, float, float]:
    """Return how much worse the first of two values is than the second, with its interval.

    `difference` is the paired interval of first − second, `ends` the intervals of the two. Where worse is farther from
    neutral on either side, the sum of both counts too: as wide as for two values that move together, the widest case.
    """
    first, second = values
    if worse_is(measure) == UP:
        return first - second, *difference
    if worse_is(measure) == DOWN:
        return second - first, -difference[1], -difference[0]
    best = best_of(measure)
    total = first + second - 2 * best
    below = ends[0][0] - first + ends[1][0] - second
    above = ends[0][1] - first + ends[1][1] - second
    return abs(first - best) - abs(second - best), *farther(difference, (total + below, total + above))
