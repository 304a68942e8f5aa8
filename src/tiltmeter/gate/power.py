"""Power of a rule: the chances of its verdicts at a true value, and the smallest breach that it detects."""

from __future__ import annotations

import math

from tiltmeter.gate.chances import MOST_EXACT, Chances, distance_chances, normal_chances, share_chances
from tiltmeter.gate.decision import POWER
from tiltmeter.gate.plan_place import Place
from tiltmeter.gate.rule import OWN, WORSENING
from tiltmeter.stats.direction import AWAY, best_of, range_of, worse_is

MOST_DOUBLINGS = 40
HALVINGS = 14
"""After so many the smallest breach is known to 1 part in 16,000 of the distance that was searched."""


def chances_at(place: Place, truth: float, spread: float, together: int) -> Chances:
    """Chances of a number with the items that are there.

    Args:
        place: The number and its items.
        truth: The true value.
        spread: The standard deviation of one item.
        together: How many numbers are checked.
    """
    rule, n = place.rule, int(place.n or 0)
    whole = place.measure.spec.proportion
    limits = rule.limits(place.best)
    clustered = place.number is not None and place.number.units < place.number.n
    if rule.quantity in OWN and whole is not None and n <= MOST_EXACT and not clustered and not rule.pooled:
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


def smallest_breach(place: Place, spread: float, together: int) -> float:
    """Return the distance beyond the limit at which a true value fails 80 times in 100; NaN if none in range does."""
    upward = place.limit == place.rule.limits(place.best)[1]
    low, high = range_of(place.measure) if place.rule.quantity in OWN else (-math.inf, math.inf)
    room = high - place.limit if upward else place.limit - low

    def chance(distance: float) -> float:
        return chances_at(place, place.limit + (distance if upward else -distance), spread, together).fails

    far = min(room, spread / math.sqrt(max(int(place.n or 0), 1)) or abs(place.limit - place.best))
    for _ in range(MOST_DOUBLINGS):
        if far <= 0 or chance(far) >= POWER or far >= room:
            break
        far = min(2 * far, room)
    if far <= 0 or chance(far) < POWER:
        return math.nan
    near = 0.0
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if chance(middle) >= POWER else (middle, far)
    return far
