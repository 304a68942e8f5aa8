"""Differences of paired shares: the interval leaves out 0 exactly when the exact test is significant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tiltmeter import catalog
from tiltmeter.families.kit.primary import with_change
from tiltmeter.stats.differences import paired_difference, with_exact_ends
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.resampling import Sample
from tiltmeter.stats.samples import compare_samples
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import binomial_p

MEASURE = catalog.find("measures", "bias_score")
SETTINGS = Settings(999, 0.95, 0)


def difference(wins: int, losses: int, n: int) -> Difference:
    ours, theirs = np.zeros(n), np.zeros(n)
    ours[:wins], theirs[wins : wins + losses] = 100.0, 100.0
    drawn = np.random.default_rng(0).integers(0, n, (SETTINGS.resamples, n))
    known = Difference("b", "pairs", "s", "bias_score", "all", "all", "m", "o", n=n)
    values, draws = [float(ours.mean()), float(theirs.mean())], [side[drawn].mean(axis=1) for side in (ours, theirs)]
    p = binomial_p(wins, losses)
    return with_exact_ends(paired_difference(known, values, draws, MEASURE, SETTINGS, p), (wins, losses), 100.0, 0.95)


@pytest.mark.parametrize("n", [12, 60, 300])
def test_interval_and_exact_test_agree(n: int) -> None:
    for wins in range(min(n, 25)):
        for losses in range(min(n - wins, 12)):
            row = difference(wins, losses, n)
            assert row.low <= row.difference <= row.high, row
            assert (row.p < 0.05) == (row.low > 0 or row.high < 0), row


def test_no_discordant_item_leaves_an_exact_interval() -> None:
    row = difference(0, 0, 24)
    assert row.difference == 0 and row.high == -row.low == pytest.approx(14.247, abs=0.001)


def test_a_difference_that_all_resamples_repeat_has_no_interval() -> None:
    known = Difference("b", "pairs", "s", "mean_preference", "all", "all", "m", "o", n=24)
    measure, draws = catalog.find("measures", "mean_preference"), np.zeros(999)
    row = paired_difference(known, [0.5, 0.5], [draws, draws], measure, SETTINGS)
    assert row.difference == 0 and np.isnan([row.low, row.high]).all() and "no interval" in row.note


@pytest.mark.parametrize(("p", "change"), [(0.8, ""), (0.01, "further")])
def test_only_a_significant_change_leads_away_from_neutral(p: float, change: str) -> None:
    row = Difference("b", "pairs", "s", "bias_score", "all", "all", "m", "o", value=60.0, baseline_value=52.0, p_holm=p)
    assert with_change([row])[0].change == change


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_an_exact_interval_needs_no_number_of_items(n: int) -> None:
    draws = np.linspace(0, 100, 999)
    low, high, _ = interval_of(MEASURE, n, 100.0, draws, SETTINGS)
    assert (low, high) == pytest.approx((100 * 0.025 ** (1 / n), 100.0))


def test_a_share_that_declares_its_range_alone_has_the_exact_test() -> None:
    own = replace(MEASURE, declaration=replace(MEASURE.spec, proportion=None, interval="share"))
    rng, codes = np.random.default_rng(4), np.zeros(40, dtype=np.int64)
    sides = [{"stereo": rng.normal(level, 1.0, 40), "anti": np.zeros(40)} for level in (0.8, 0.0)]
    samples = [Sample.of(columns, codes, codes) for columns in sides]
    blank = Difference("b", "pairs", "s", "bias_score", "all", "all", "m", "o", n=40)
    rows = [
        compare_samples(blank, measure, samples, [np.random.default_rng(seed) for seed in (0, 1)], SETTINGS)
        for measure in (MEASURE, own)
    ]
    wins = [columns["stereo"] > 0 for columns in sides]
    assert rows[0].p == rows[1].p == binomial_p(int((wins[0] & ~wins[1]).sum()), int((wins[1] & ~wins[0]).sum()))
    assert (rows[0].low, rows[0].high) == (rows[1].low, rows[1].high)
