"""Chances of a verdict, before anything is measured: for a model whose true value is assumed.

A share of n independent items has a binomial distribution, and each count the interval that estimates give it, so chances
are exact. Every other number is taken to be normal with a known standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.gate.decision import FAIL, PASS, ROUNDING, UNDECIDED
from tiltmeter.gate.numbers import corrected
from tiltmeter.gate.rule import NO_EVIDENCE, Rule
from tiltmeter.stats.measured import count_interval
from tiltmeter.stats.pooling import pool_shares
from tiltmeter.stats.significance import smallest_difference

Floats = NDArray[np.float64]
Ends = tuple[float, float]
MOST_EXACT = 20_000
"""Above so many items a share is as good as normal."""
DRAWS = 20_000
POOLED_DRAWS = 400


@dataclass(frozen=True)
class Chances:
    """The chances of the three verdicts; NaN where the spread of a measure is unknown."""

    passes: float = math.nan
    fails: float = math.nan

    @property
    def undecided(self) -> float:
        """The chance of neither."""
        rest = 1 - self.passes - self.fails
        return rest if math.isnan(rest) else max(0.0, rest)

    def of(self, verdict: str) -> float:
        """The chance of a verdict."""
        return {PASS: self.passes, FAIL: self.fails, UNDECIDED: self.undecided}[verdict]

    def to_dict(self) -> dict[str, float]:
        """Return the chances by verdict."""
        return {verdict: self.of(verdict) for verdict in (PASS, FAIL, UNDECIDED)}

    def stopped(self, rule: Rule, policy: str) -> float:
        """The chance that the rule stops a release."""
        return sum(self.of(verdict) for verdict in (FAIL, UNDECIDED) if rule.stops(verdict, policy))


def all_of(parts: Sequence[Chances]) -> Chances:
    """Chances of several independent numbers of one rule: all must pass, and one that fails is enough to fail."""
    passes = math.prod(one.passes for one in parts)
    return Chances(passes, 1 - math.prod(1 - one.fails for one in parts))


def share_chances(rule: Rule, limits: Ends, truth: float, whole: float, n: int, together: int = 1) -> Chances:
    """Chances of a rule about a share of n items, in units of `whole`, if `together` numbers are checked."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    chance = binom.pmf(k, n, min(max(truth / whole, 0.0), 1.0))
    likely = chance > 1e-12
    measure = catalog.find("measures", rule.measure)
    narrow, wide = (
        list(np.array([count_interval(measure, int(count), n, level) for count in k[likely]]).T)
        for level in (rule.confidence, corrected(rule.confidence, together))
    )
    return _weighed(rule, narrow, wide, limits, chance[likely])


def normal_chances(rule: Rule, limits: Ends, truth: float, error: float, together: int = 1) -> Chances:
    """Chances of a rule about a number with a normal distribution."""
    if error <= 0:  # all items of an earlier run agree
        within = limits[0] - ROUNDING <= truth <= limits[1] + ROUNDING
        return Chances(float(within), float(not within))
    fails = chance_to_fail(limits, truth, error, corrected(rule.confidence, together))
    passes = 1 - fails if rule.form == NO_EVIDENCE else chance_to_pass(limits, truth, error, rule.confidence)
    return Chances(passes, fails)


def distance_chances(rule: Rule, best: float, truths: Ends, errors: tuple[float, float, float], together: int) -> Chances:
    """Chances of a rule about how much farther from the best value a model lies than its baseline, by simulation.

    Args:
        rule: The rule.
        best: The best value.
        truths: True values of the model and of the baseline.
        errors: Standard errors of the model's value, of the baseline's, and of their difference.
        together: How many numbers are checked.
    """
    first, second, of_difference = errors
    shared = float(np.clip((first**2 + second**2 - of_difference**2) / 2, -first * second, first * second))
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(np.array(truths) - best, [[first**2, shared], [shared, second**2]], DRAWS)
    difference, total = drawn[:, 0] - drawn[:, 1], drawn[:, 0] + drawn[:, 1]
    narrow, wide = (
        _farther(difference, reach * of_difference, total, reach * (first + second))
        for reach in (_reach(rule.confidence), _reach(corrected(rule.confidence, together)))
    )
    return _weighed(rule, narrow, wide, (rule.low, rule.high), np.full(DRAWS, 1 / DRAWS))


def _farther(difference: Floats, around: float, total: Floats, about: float) -> list[Floats]:
    """`stats.direction.farther` for many intervals at once."""
    low = np.minimum(np.maximum(difference - around, -total - about), np.maximum(-difference - around, total - about))
    high = np.maximum(np.minimum(difference + around, total + about), np.minimum(-difference + around, -total + about))
    return [low, high]


def pooled_chances(rule: Rule, limits: Ends, truth: float, whole: float, sizes: Sequence[int], together: int) -> Chances:
    """Chances of a rule about every pooled group, all of which have this true value, by simulation."""
    rng = np.random.default_rng(0)
    n = np.array(sizes)
    wins = rng.binomial(n, truth / whole, (POOLED_DRAWS, len(n)))
    narrow, wide = (pool_shares(wins, n, level) for level in (rule.confidence, corrected(rule.confidence, together)))
    within = ((whole * narrow.low >= limits[0]) & (whole * narrow.high <= limits[1])).all(axis=1)
    outside = ((whole * wide.low > limits[1]) | (whole * wide.high < limits[0])).any(axis=1)
    return Chances(float((~outside if rule.form == NO_EVIDENCE else within & ~outside).mean()), float(outside.mean()))


def _weighed(rule: Rule, narrow: Sequence[Any], wide: Sequence[Any], limits: Ends, chance: Floats) -> Chances:
    low, high = limits[0] - ROUNDING, limits[1] + ROUNDING
    fails = (wide[0] > high) | (wide[1] < low)
    within = ~fails & (narrow[0] >= low) & (narrow[1] <= high)
    passes = ~fails if rule.form == NO_EVIDENCE else within
    return Chances(float(chance[passes].sum()), float(chance[fails].sum()))


def _reach(confidence: float) -> float:
    """Return the standard errors that an interval reaches to either side."""
    return smallest_difference(1.0, confidence, power=0.5)


def chance_to_pass(limits: Ends, value: float, error: float, confidence: float) -> float:
    """The chance that the interval of a model at this value lies within the limits."""
    from scipy.special import ndtr

    reach = _reach(confidence)
    above, below = ((limits[1] - value) / error - reach, (value - limits[0]) / error - reach)
    return max(0.0, float(ndtr(above) - ndtr(-below)))


def chance_to_fail(limits: Ends, value: float, error: float, confidence: float) -> float:
    """The chance that the corrected interval of a model at this value lies wholly outside the limits."""
    from scipy.special import ndtr

    reach = _reach(confidence)
    return float(ndtr((value - limits[1]) / error - reach) + ndtr((limits[0] - value) / error - reach))
