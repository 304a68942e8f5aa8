"""Confidence sequences: equal to a plain reference, valid at any stopping time, and no wider than a published one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tiltmeter.stats.sequential import BETS, confidence_sequence, log_wealth


def plain_wealth(values: list[tuple[float, int]], mean: Fraction, largest: int, sign: int) -> list[Fraction]:
    """The wealth after each cluster, in exact arithmetic, one bet and one cluster at a time."""
    wealth = [Fraction(1)] * len(BETS)
    found = []
    for total, size in values:
        gain = sign * (Fraction(total) - size * mean) / largest
        wealth = [part * (1 + Fraction(float(bet)) * gain) for part, bet in zip(wealth, BETS, strict=True)]
        found.append(sum(wealth) / len(wealth))
    return found


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("largest", [1, 3])
def test_wealth_is_that_of_a_plain_reference(above: bool, largest: int) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, largest + 1, 40)
    totals = [float(rng.integers(0, size + 1)) for size in sizes]
    mean = Fraction(9, 20)
    expected = plain_wealth(list(zip(totals, map(int, sizes), strict=True)), mean, largest, 1 if above else -1)
    found = np.exp(log_wealth(totals, sizes, float(mean), largest, above=above))
    assert found == pytest.approx([float(one) for one in expected], rel=1e-9)


def test_bounds_are_where_wealth_reaches_its_level() -> None:
    rng = np.random.default_rng(5)
    values = (rng.random(300) < 0.6).astype(float)
    ((low, high),) = confidence_sequence(values, np.ones(300), [300], 0.025)
    for bound, above in ((low, True), (high, False)):
        assert log_wealth(values, np.ones(300), bound, above=above)[-1] == pytest.approx(-math.log(0.025), abs=1e-6)
    assert low < values.mean() < high


def test_all_ones_have_a_closed_form() -> None:
    """After t ones the wealth against m is the mean of (1 + λ(1 − m))^t."""
    for t in (5, 20):
        expected = math.log(np.mean((1 + BETS * 0.5) ** t))
        assert log_wealth(np.ones(t), np.ones(t), 0.5)[-1] == pytest.approx(expected)


def test_a_look_never_loses_what_an_earlier_one_refuted() -> None:
    values = np.concatenate([np.ones(60), np.zeros(60)])
    (first, second) = confidence_sequence(values, np.ones(120), [60, 120], 0.025)
    assert second[0] == first[0] > 0.5


def empirical_bernstein(values: np.ndarray, alpha: float) -> tuple[float, float]:
    """Predictable plug-in empirical Bernstein bounds (Waudby-Smith and Ramdas, 2024, Theorem 2), two-sided at alpha."""
    t = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (t + 1)
    before_mean, before_variance = np.append(0.5, mean[:-1]), np.append(0.25, variance[:-1])
    bet = np.minimum(np.sqrt(2 * np.log(2 / alpha) / (before_variance * t * np.log(1 + t))), 0.5)
    psi = (-np.log(1 - bet) - bet) / 4
    centre = np.cumsum(bet * values) / np.cumsum(bet)
    radius = (np.log(2 / alpha) + np.cumsum(4 * (values - before_mean) ** 2 * psi)) / np.cumsum(bet)
    return float(np.max(centre - radius)), float(np.min(centre + radius))


def test_bounds_are_no_wider_than_the_published_empirical_bernstein_ones() -> None:
    rng = np.random.default_rng(11)
    ours, theirs = [], []
    for _ in range(20):
        values = (rng.random(1508) < 0.55).astype(float)
        ((low, high),) = confidence_sequence(values, np.ones(1508), [1508], 0.025)
        published = empirical_bernstein(values, 0.05)
        ours.append(high - low)
        theirs.append(published[1] - published[0])
    assert 0.05 < np.mean(ours) < np.mean(theirs)


@pytest.mark.parametrize("mean", [0.55, 0.2])
def test_false_alarms_at_any_time(mean: float) -> None:
    """2,000 runs of 800 items: bets against the true mean ever win with probability 2.5 % at most (± 3 standard errors)."""
    values = (np.random.default_rng(7).random((2000, 800)) < mean).astype(float)
    for above in (True, False):
        ever = (log_wealth(values, np.ones(800), mean, above=above) >= -math.log(0.025)).any(axis=-1).mean()
        assert ever <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 2000)


def test_clusters_of_equal_items_are_one_piece_of_evidence() -> None:
    """200 clusters of 10 equal items: counted as items they would alarm; the bets count clusters."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(300):
        heads = (rng.random(200) < 0.5).astype(float)
        alarms += bool((log_wealth(10 * heads, np.full(200, 10), 0.5, 10) >= -math.log(0.025)).any())
    assert alarms / 300 <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 300)
