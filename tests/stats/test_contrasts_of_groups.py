"""Contrasts of groups against the same numbers by hand, and the draws and tests behind them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tiltmeter import catalog
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.groups import Clusters, Contrast, Groups, PairedGroups, Rows, compare_groups
from tiltmeter.stats.settings import Settings

COLUMNS = ("judged", "total", "negatives")
SETTINGS = Settings(400)
MEANS = np.array([[4.0, 2.0, 1.0], [10.0, 8.0, 5.0], [5.0, 1.0, 0.0]])
"""Three groups with mean scores of 0.5, 0.8 and 0.2, and shares of negative texts of 0.25, 0.5 and 0."""


def measure(name: str) -> Any:
    return catalog.find("measures", name)


def made(seed: int, clusters: bool = False, shift: float = 0.0) -> Groups:
    """Two groups of 20 rows with two texts each; the scores of the second are higher by a shift."""
    rng = np.random.default_rng(seed)
    total = rng.normal(0.5, 0.2, 40) + shift * (np.arange(40) >= 20)
    sums = np.stack([np.full(40, 2.0), 2 * total, total > 0.6], axis=1)
    of = Clusters(np.arange(40) // 2, "articles", np.zeros(20, dtype=bool)) if clusters else None
    rows = Rows(sums, COLUMNS, ("here",), of)
    return rows.groups({"a": np.arange(20), "b": np.arange(20, 40)}, SETTINGS).select(["a", "b"], "test")


def test_contrasts_by_hand() -> None:
    gap, share_gap = measure("score_gap"), measure("negative_gap")
    contrasts = [
        (Contrast(measure("mean_score"), group=1), 0.8),
        (Contrast(measure("negative_share"), group=1), 0.5),
        (Contrast(gap, "total", 1, 2), 0.6),
        (Contrast(gap, "total", 1), 0.8 - 0.5),
        (Contrast(share_gap, "negatives", 0, 1), -0.25),
        (Contrast(share_gap, "negatives", 2), -0.25),
        (Contrast(measure("score_variance"), "total"), 0.09),
    ]
    for contrast, value in contrasts:
        assert float(contrast.of(MEANS, COLUMNS)) == pytest.approx(value), contrast.measure.name
        np.testing.assert_allclose(contrast.of(np.stack([MEANS, 3 * MEANS]), COLUMNS), [value, value])


@pytest.mark.parametrize("clusters", [False, True])
def test_a_difference_is_found_and_chance_is_not(clusters: bool) -> None:
    contrast, row = Contrast(measure("score_gap"), "total", 1, 0), Estimate(*["x"] * 7)
    apart, alike = (made(1, clusters, shift).estimated(row, contrast) for shift in (0.5, 0.0))
    assert 0 < apart.low < apart.value < apart.high and apart.p < 0.01
    assert alike.low < 0 < alike.high and alike.p > 0.05
    assert np.isnan(made(1, clusters).p(Contrast(measure("mean_score")))), "one group alone has no test"


def test_clusters_of_rows_that_count_nothing_are_left_out_of_tests() -> None:
    sums = np.repeat([[2.0, 1.0, 0.0]], 12, axis=0)
    sums[10:] = 0
    rows = Rows(sums, COLUMNS, ("here",), Clusters(np.arange(12), "articles", np.zeros(12, dtype=bool)))
    groups = rows.groups({"a": np.arange(5), "b": np.arange(5, 12)}, SETTINGS)
    assert groups.pieces.n_clusters.tolist() == [5, 5] and [units.n for units in groups.units] == [5, 5]


def test_a_cluster_that_alone_is_shared_is_drawn_with_the_others() -> None:
    sums = np.stack([np.full(12, 2.0), np.ones(12), np.arange(12) % 6 == 0], axis=1)
    codes, shared = np.array([0, 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10]), np.arange(11) == 0
    rows = Rows(sums, COLUMNS, ("here",), Clusters(codes, "articles", shared))
    groups = rows.groups({"a": np.arange(6), "b": np.arange(6, 12)}, SETTINGS)
    assert set(groups.draws[:, 0, 2]) >= {0.0, 1.0, 2.0}  # else it would be in every draw, once


def test_a_variance_over_groups_of_one_row_each_has_no_interval() -> None:
    contrast, row = Contrast(measure("score_variance"), "total"), Estimate(*["x"] * 7)
    sums = np.stack([np.full(12, 2.0), np.linspace(0, 2, 12), np.zeros(12)], axis=1)
    rows = Rows(sums, COLUMNS, ("here",))
    lone = rows.groups({str(n): np.array([n]) for n in range(6)}, SETTINGS).estimated(row, contrast)
    assert np.isnan(lone.low) and "fewer than 5" in lone.note
    pairs = rows.groups({str(n): np.array([n, n + 6]) for n in range(6)}, SETTINGS).estimated(row, contrast)
    assert np.isfinite(pairs.low)


def test_a_whole_is_made_of_the_draws_of_its_groups() -> None:
    groups = made(2, clusters=True)
    whole = groups.together("all")
    np.testing.assert_allclose(whole.sums[0], groups.rows.sums.sum(0))
    np.testing.assert_array_equal(whole.draws[:, 0], groups.draws[:, 0] + groups.draws[:, 1])
    assert (whole.draws[..., 0] == 80).all() and whole.units[0].n == 20
    np.testing.assert_array_equal(groups.select(["b"]).draws[:, 0], groups.draws[:, 1])


def test_two_models_share_draws_so_that_what_they_share_cancels() -> None:
    ours, theirs = made(3), made(3)
    contrast, row = Contrast(measure("mean_score"), group=1), Difference(*["x"] * 8)
    same = compare_groups(row, ours, theirs, contrast)
    assert (same.difference, same.p) == (0, 1)
    sums = theirs.rows.sums + np.array([0, 0.2, 0]) * np.random.default_rng(0).random((40, 1))
    less = Rows(sums, COLUMNS, ("here",)).groups(theirs.at, SETTINGS)
    found = compare_groups(row, ours, less, contrast)
    alone = ours.estimated(Estimate(*["x"] * 7), contrast)
    assert found.high < 0 and found.high - found.low < (alone.high - alone.low) / 3


@pytest.mark.parametrize("clusters", [False, True])
def test_p_of_pairs_is_that_of_all_exchanges(clusters: bool) -> None:
    rng = np.random.default_rng(4)
    table = np.stack([np.ones((8, 2)), rng.normal([0.7, 0.4], 0.3, (8, 2)), np.zeros((8, 2))], axis=2)
    codes = np.arange(8) // 2 if clusters else None
    like = Rows(table[:, 0], COLUMNS, ("here",), Clusters(np.arange(8), "articles", np.zeros(8, dtype=bool)))
    groups = PairedGroups.of(["a", "b"], table, like, codes, SETTINGS, "exchanging")
    differences = table[:, 0, 1] - table[:, 1, 1]
    signs = np.array(list(product([1, -1], repeat=4 if clusters else 8)))
    gaps = np.abs((np.repeat(signs, 2, axis=1) if clusters else signs) @ differences)
    expected = np.mean(gaps >= abs(differences.sum()) - 1e-9)
    contrast = Contrast(measure("score_gap"), "total", 0, 1)
    assert groups.p(contrast) == pytest.approx(expected) and groups.n_pairs == 8
    assert float(groups.value(contrast)) == pytest.approx(differences.mean())
    assert groups.units[0].n == (4 if clusters else 8)
