"""Partial pooling: coverage at CrowS-Pairs' group sizes, what it borrows, and where it is stored."""

from __future__ import annotations

import numpy as np
import pytest

from gate_material import leaning_scores
from tiltmeter import estimate
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.pooling import POOLED, SPREADS, empirical_logits, pool_rows, pool_shares

SIZES = np.array([87, 60, 262, 159, 63, 516, 105, 84, 172])


@pytest.mark.parametrize("spread", [0.0, 5.0, 15.0])
def test_intervals_hold_the_truth(spread: float) -> None:
    """300 sets of nine groups, 2,700 intervals: at least 93 %."""
    rng = np.random.default_rng(int(spread))
    truth = np.clip(rng.normal(0.55, spread / 100, (300, 9)), 0.02, 0.98)
    wins = rng.binomial(SIZES, truth)
    pooled = pool_shares(wins, SIZES)
    assert ((pooled.low <= truth) & (truth <= pooled.high)).mean() >= 0.93
    raw = 2 * 1.96 * np.sqrt(wins / SIZES * (1 - wins / SIZES) / SIZES)
    ratio = ((pooled.high - pooled.low) / raw).mean()
    assert ratio < {0.0: 0.7, 5.0: 0.85, 15.0: 1.0}[spread] and ratio > {0.0: 0.4, 5.0: 0.6, 15.0: 0.9}[spread]
    assert ((pooled.value - truth) ** 2).mean() < ((wins / SIZES - truth) ** 2).mean()


def test_equal_groups_are_drawn_together_and_unequal_ones_are_not() -> None:
    alike = pool_shares([50, 52, 48, 51], [100, 100, 100, 100])
    apart = pool_shares([10, 90, 30, 70], [100, 100, 100, 100])
    assert np.ptp(alike.value) < 0.02 and alike.spread < 0.2
    assert apart.value == pytest.approx([0.1, 0.9, 0.3, 0.7], abs=0.02) and apart.spread > 0.8


def test_given_the_spread_estimates_are_weighted_means() -> None:
    """With known τ the posterior mean of a normal hierarchical model has a closed form; here by plain sums over τ."""
    wins, n = np.array([30.0, 20.0, 45.0]), np.array([60.0, 50.0, 70.0])
    y, v = empirical_logits(wins, n)
    weights, means = [], []
    for tau in SPREADS:
        w = 1 / (v + tau**2)
        mu = (w * y).sum() / w.sum()
        density = np.prod(np.sqrt(w)) / np.sqrt(w.sum()) * np.exp(-0.5 * (w * (y - mu) ** 2).sum())
        weights.append(density)
        means.append((y / v + mu / tau**2) / (1 / v + 1 / tau**2) if tau else np.full(3, mu))
    weights = np.array(weights) * np.gradient(SPREADS)
    mean = (weights[:, None] * np.array(means)).sum(axis=0) / weights.sum()
    assert pool_shares(wins, n).value == pytest.approx(1 / (1 + np.exp(-mean)), abs=0.01)


def test_order_and_empty_sides_do_not_matter() -> None:
    one, other = pool_shares([0, 20, 60], [60, 60, 60]), pool_shares([60, 20, 0], [60, 60, 60])
    assert one.value == pytest.approx(other.value[::-1]) and np.isfinite(one.low).all() and (one.low > 0).all()
    with pytest.raises(ValueError, match="groups"):
        pool_shares([1, 2], [3, 3])


def test_clusters_count_for_less_than_items() -> None:
    rows = [
        {"value": v, "low": v - 10, "high": v + 10, "n": 5000, "details": '{"n_clusters": 40}'} for v in (50.0, 60.0, 70.0)
    ]
    free = [{**row, "details": ""} for row in rows]
    width = [np.mean([high - low for _, low, high in pool_rows(some, 100.0, 0.95)]) for some in (rows, free)]
    assert width[0] > 3 * width[1]


def test_estimates_have_pooled_values_beside_the_raw_ones() -> None:
    table = estimate(leaning_scores({"m": 0.5}, n=240), ["bias_score", "kls"], resamples=200)
    groups = table[(table["by"] == "bias_type") & (table["measure"] == "bias_score")].to_dict("records")
    for row in groups:
        details = details_of(row)
        assert set(POOLED) <= set(details)
        assert float(details["pooled_low"]) < float(details["pooled"]) < float(details["pooled_high"])
        assert float(details["pooled_high"]) - float(details["pooled_low"]) < row["high"] - row["low"]
    rest = table[(table["by"] == "all") | (table["measure"] == "kls")].to_dict("records")
    assert not any(set(POOLED) & set(details_of(row)) for row in rest)
