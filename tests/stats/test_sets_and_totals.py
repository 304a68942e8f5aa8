"""Statistics of sets of units and of totals of clusters: draws that models share, exact tests, exchanges."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.design import Design, Floats
from tiltmeter.stats.estimates import Difference, Estimate, each_corrected
from tiltmeter.stats.resampling import exchange_sums
from tiltmeter.stats.sets import bootstrap_sets, compare_means, estimate_mean, exchanged_sets, mean_draws, permuted_sets
from tiltmeter.stats.totals import Totals, compare_totals

SETTINGS = Settings(400)
DIFFERENCE = Difference("b", "f", "s", "ilps", "all", "all", "m", "n", n=30)
EXCHANGES = (("stereo_amb", "anti_amb"),)


def gap(x: Floats, y: Floats) -> Floats:
    return np.asarray(x.mean(-1) - y.mean(-1))


def totals(stereo: list[float], anti: list[float]) -> Totals:
    counts = {"stereo_amb": np.array(stereo), "anti_amb": np.array(anti)}
    counts["asked_amb"] = counts["stereo_amb"] + counts["anti_amb"]
    return Totals.of(catalog.find("measures", "diff_bias_amb"), counts, Design.clustered(np.arange(len(stereo)) // 2))


def test_models_share_the_draws_of_both_sets() -> None:
    x, y = np.arange(8.0), np.arange(5.0)
    one, same, moved = bootstrap_sets(gap, [(x, y), (x, y), (x + 1, y)], 50, np.random.default_rng(0))
    assert (one == same).all() and moved - one == pytest.approx(np.ones(50))


def test_permuting_sets_centres_a_gap_on_zero_and_keeps_all_units() -> None:
    x, y = np.arange(8.0) + 5, np.arange(8.0)
    drawn = permuted_sets(gap, (x, y), 4000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0, abs=0.15) and np.abs(drawn).max() <= gap(
        np.sort([*x, *y])[8:], np.sort([*x, *y])[:8]
    )


def test_exchanged_models_keep_their_sum() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = ((rng.normal(size=6), rng.normal(size=4)) for _ in range(2))
    first, second = exchanged_sets(gap, (ours, theirs), 30, rng)
    assert first + second == pytest.approx(np.full(30, gap(*ours) + gap(*theirs))) and len(set(first)) > 1


def test_a_mean_has_an_exact_test_and_the_same_draws_for_two_models() -> None:
    rng, values, measure = np.random.default_rng(0), np.arange(1.0, 9.0), catalog.find("measures", "ilps")
    row = estimate_mean(Estimate("m", "b", "f", "s", "ilps", "all", "all", n=8), measure, values, rng, SETTINGS)
    assert row.value == 4.5 and row.p == 2 / 2**8 and 0 < row.low < 4.5 < row.high
    both = np.stack([values, values], axis=1)
    assert np.ptp(mean_draws(both, 100, rng), axis=1) == pytest.approx(np.zeros(100))
    same = compare_means(DIFFERENCE, measure, both, rng, SETTINGS)
    assert same.difference == 0 and same.p == 1


def test_totals_add_up_clusters_and_test_all_ways_of_few() -> None:
    own = totals([3, 1, 2, 2, 4, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0])
    assert own.columns["stereo_amb"].tolist() == [4, 4, 4, 2] and own.design.n_clusters == 4
    assert own.p(EXCHANGES, np.random.default_rng(0), SETTINGS) == 2 / 2**4, "only the observed way and its mirror image"
    assert own.value == -totals([0] * 8, [3, 1, 2, 2, 4, 0, 1, 1]).value


def test_equal_totals_do_not_differ() -> None:
    own = totals([3, 1, 2, 2, 4, 0, 1, 1, 2, 5], [1, 1, 0, 2, 0, 3, 1, 0, 2, 2])
    row = compare_totals(DIFFERENCE, own, own, np.random.default_rng(0), SETTINGS)
    assert row.difference == 0 and row.p == 1 and np.isnan(row.low)


def test_exchanged_sums_keep_what_both_models_have() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    groups = [np.arange(2), np.arange(2, 6)]
    first, second, is_exact = exchange_sums(Design.independent(6), (ours, theirs), groups, 10, rng)
    whole = np.stack([(ours + theirs)[at].sum(0) for at in groups])
    assert is_exact and first.shape == (64, 2, 2) and first + second == pytest.approx(np.broadcast_to(whole, first.shape))


def test_only_rows_of_a_list_are_tested_together() -> None:
    rows = [Estimate("m", "b", "f", "s", "ilps", "group", name, p=0.02) for name in "ab"]
    alone, *together = each_corrected([rows[0], rows])
    assert np.isnan(alone.p_holm) and [row.p_holm for row in together] == [0.04, 0.04]
    assert {row.corrected_over for row in together} == {"2 tests: group"}
