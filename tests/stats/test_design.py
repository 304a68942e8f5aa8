"""The one design: what it draws, permutes and flips, exactly where there are few units."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from tiltmeter.stats.design import Design
from tiltmeter.stats.significance import equivalence_p, permutation_p, sign_flip_p, split_p


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_bootstrap_draws_as_many_clusters_of_each_stratum() -> None:
    design = Design(np.array([0, 0, 1, 2, 3, 3]), np.array([0, 0, 0, 0, 1, 1]))
    weights = design.weights(500, rng())
    assert (weights[:, :3].sum(axis=1) == 3).all() and (weights[:, 3] == 1).all()
    assert weights[:, 0].mean() == pytest.approx(1.0, abs=0.1) and weights[:, 0].var() == pytest.approx(2 / 3, abs=0.1)


def test_strata_in_any_order_are_drawn_alike() -> None:
    strata = np.array([1, 0, 1, 0, 1])
    weights = Design.independent(5, strata).weights(400, rng())
    assert (weights[:, strata == 0].sum(axis=1) == 2).all() and (weights[:, strata == 1].sum(axis=1) == 3).all()


def test_indices_and_weights_are_the_same_draws() -> None:
    design = Design.independent(7, np.array([0, 0, 0, 1, 1, 1, 1]))
    index = np.concatenate(list(design.indices(50, rng(3))))
    counted = np.stack([np.bincount(row, minlength=7) for row in index])
    assert (counted == design.weights(50, rng(3))).all()


def test_clusters_that_cross_strata_or_stand_alone_in_one_make_one_stratum() -> None:
    assert not Design.clustered(np.array([0, 0, 1]), np.array([0, 1, 1])).stratum.any()
    assert not Design.clustered(np.array([4, 4, 9, 9]), np.array([0, 0, 1, 1])).stratum.any()
    nested = Design.clustered(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    assert nested.stratum.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_few_flips_are_all_flips(seed: int) -> None:
    """Eight of eight wins is p = 2/256 by whatever seed."""
    ways, is_exact = Design.independent(8).flip(10, rng(seed))
    every = np.concatenate(list(ways))
    assert is_exact and len(np.unique(every, axis=0)) == 256
    assert sign_flip_p(np.ones(8), rng(seed)) == 2 / 256


def test_many_flips_are_random_and_fair() -> None:
    ways, is_exact = Design.independent(13).flip(1000, rng())
    every = np.concatenate(list(ways))
    assert not is_exact and every.shape == (1000, 13) and every.mean() == pytest.approx(0.5, abs=0.02)


def test_few_orders_are_all_orders() -> None:
    ways, is_exact = Design.independent(4).permute(1000, rng())
    assert is_exact and len(np.unique(np.concatenate(list(ways)), axis=0)) == 24


@pytest.mark.parametrize("n_strata", [2, 40])
def test_orders_stay_within_strata(n_strata: int) -> None:
    strata = np.arange(80) % n_strata
    ways, is_exact = Design.independent(80, strata).permute(20, rng())
    orders = np.concatenate(list(ways))
    assert not is_exact and (np.sort(orders, axis=1) == np.arange(80)).all() and (strata[orders] == strata).all()
    assert (orders != np.arange(80)).any(axis=1).all()


def test_groups_are_permuted_over_whole_clusters() -> None:
    """Clusters with rows of both groups exchange them within; clusters of one group exchange theirs."""
    cluster, group = np.array([0, 1, 2, 3, 3, 4, 4]), np.array([0, 0, 1, 0, 1, 0, 1])
    dealt = np.concatenate(list(Design(cluster, np.zeros(7, dtype=np.int64), group).permute_groups(600, rng())))
    assert (dealt[:, :3].sum(axis=1) == 1).all() and (dealt[:, 3] != dealt[:, 4]).all()
    assert dealt.mean(axis=0)[3:] == pytest.approx([0.5] * 4, abs=0.07)
    assert dealt.mean(axis=0)[:3] == pytest.approx([1 / 3] * 3, abs=0.07)


def test_sums_of_clusters() -> None:
    design = Design.clustered(np.array([5, 2, 5]))
    assert design.sums(np.array([[1.0], [10.0], [100.0]])).tolist() == [[10.0], [101.0]]
    assert design.totals({"x": np.array([1.0, 10.0, 100.0])})["x"].tolist() == [10.0, 101.0]


def test_splits_are_exact_where_there_are_few_and_close_where_there_are_many() -> None:
    x, y = np.arange(20.0) + 4, np.arange(20.0)
    p, is_exact = split_p(x[:4] + 40, y[:4], rng())
    assert is_exact and p == 1 / comb(8, 4)
    from scipy.stats import ttest_ind

    sampled, is_exact = split_p(x, y, rng())
    assert not is_exact and sampled == pytest.approx(ttest_ind(x, y, alternative="greater").pvalue, abs=0.01)


def test_exact_permutations_do_not_count_the_observation_twice() -> None:
    draws = np.array([1.0, -1.0, 0.0, 0.0])
    assert permutation_p(1.0, draws, 0.0, is_exact=True) == 0.5 and permutation_p(1.0, draws, 0.0) == 0.6


def test_equivalence_needs_both_one_sided_tests() -> None:
    from scipy.stats import norm, t

    assert equivalence_p(0.3, 0.2, 1.0) == pytest.approx(norm.sf(0.7 / 0.2))
    assert equivalence_p(-0.3, 0.2, 1.0, n=10) == pytest.approx(t.sf(0.7 / 0.2, 9))
    assert equivalence_p(2.0, 0.0, 1.0) == 1.0 and equivalence_p(0.5, 0.0, 1.0) == 0.0
    assert np.isnan(equivalence_p(np.nan, 1.0, 1.0)) and np.isnan(equivalence_p(1.0, np.nan, 1.0))
