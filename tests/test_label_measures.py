"""Measures of labels against scikit-learn, fairlearn and numbers worked out by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, equalized_odds_difference, false_positive_rate
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from tiltmeter.measures.bnsp_auc import bnsp_auc
from tiltmeter.measures.bpsn_auc import bpsn_auc
from tiltmeter.measures.equalized_odds import equalized_odds
from tiltmeter.measures.f1_binary import f1_binary
from tiltmeter.measures.f1_macro import f1_macro
from tiltmeter.measures.flip_rate import flip_rate
from tiltmeter.measures.fnr import fnr
from tiltmeter.measures.fpr import fpr
from tiltmeter.measures.fpr_gap import fpr_gap
from tiltmeter.measures.fpr_range import fpr_range
from tiltmeter.measures.fpr_ratio import fpr_ratio
from tiltmeter.measures.fpr_variance import fpr_variance
from tiltmeter.measures.fpr_variance_chance import fpr_variance_chance
from tiltmeter.measures.kaggle_score import kaggle_score
from tiltmeter.measures.kaggle_score_all import kaggle_score_all, power_mean
from tiltmeter.measures.label_accuracy import label_accuracy
from tiltmeter.measures.label_auc import label_auc
from tiltmeter.measures.subgroup_auc import subgroup_auc

SEEDS = range(20)


def sample(seed: int, n: int = 80) -> dict[str, Any]:
    """Random texts; scores are rounded so that some tie."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    score = np.round(rng.random(n), 1 + seed % 2)
    return {
        "truth": rng.random(n) < 0.4, "score": score, "called": (score >= 0.5).astype(float), "member": group == 0,
        "members": np.stack([group == one for one in range(4)]), "group": group,
        "other_called": (rng.random(n) < 0.5).astype(float),
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_overall_measures_equal_those_of_scikit_learn(seed: int) -> None:
    one = sample(seed)
    truth, called, score = one["truth"], one["called"], one["score"]
    assert label_accuracy(truth, called) == pytest.approx(accuracy_score(truth, called))
    assert f1_binary(truth, called) == pytest.approx(f1_score(truth, called))
    assert f1_macro(truth, called) == pytest.approx(f1_score(truth, called, average="macro"))
    assert label_auc(truth, score) == pytest.approx(roc_auc_score(truth, score))


@pytest.mark.parametrize("seed", SEEDS)
def test_areas_of_a_group_equal_those_over_the_rows_that_define_them(seed: int) -> None:
    one = sample(seed)
    truth, score, member = one["truth"], one["score"], one["member"]
    defined = {
        subgroup_auc: member,
        bpsn_auc: (member & ~truth) | (~member & truth),
        bnsp_auc: (member & truth) | (~member & ~truth),
    }
    for measure, rows in defined.items():
        assert measure(truth, score, member) == pytest.approx(roc_auc_score(truth[rows], score[rows]))


@pytest.mark.parametrize("seed", SEEDS)
def test_measures_between_groups_equal_those_of_fairlearn(seed: int) -> None:
    one = sample(seed, 200)
    truth, called, members, group = (one[name] for name in ("truth", "called", "members", "group"))
    frame = MetricFrame(metrics=false_positive_rate, y_true=truth, y_pred=called, sensitive_features=group)
    rates = frame.by_group.to_numpy(dtype=float)
    assert [float(fpr(truth[rows], called[rows])) for rows in members] == pytest.approx(rates)
    assert fpr_range(truth, called, members) == pytest.approx(frame.difference())
    assert fpr_ratio(truth, called, members) == pytest.approx(frame.ratio())
    assert fpr_variance(truth, called, members) == pytest.approx(np.var(rates, ddof=1))
    odds = equalized_odds_difference(truth, called, sensitive_features=group)
    assert equalized_odds(truth, called, members) == pytest.approx(odds)
    assert fpr_gap(truth, called, one["member"]) == pytest.approx(rates[0] - fpr(truth[group > 0], called[group > 0]))
    assert fnr(truth, called) == pytest.approx(1 - called[truth].mean())


def test_what_is_undefined_is_missing_and_nothing_else_suffers() -> None:
    toxic, called = np.ones(4, bool), np.array([1.0, 0.0, 1.0, 0.0])
    nobody = np.zeros(4, bool)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(fpr(toxic, called))
        assert np.isnan(fnr(~toxic, called))
        assert np.isnan(label_auc(toxic, called))
        assert np.isnan(fpr_gap(~toxic, called, nobody))
        assert np.isnan(fpr_range(~toxic, called, np.stack([nobody, ~nobody])))
        assert np.isnan(fpr_ratio(~toxic, 0 * called, np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)))
        mixed = np.array([True, False, True, False])
        with_nobody = kaggle_score_all(mixed, called, np.stack([mixed | True, nobody]))
        assert with_nobody == pytest.approx(kaggle_score_all(mixed, called, np.stack([mixed | True])), nan_ok=True)


def test_kaggles_formula_by_hand() -> None:
    """Six texts, two groups: A is texts 1-3, B is 4-6.

    A: toxic .9, others .8 and .2; B: toxic .7 and .3, other .1. AUC: of 9 pairs 7 are right, so 7/9. Subgroup: A 2/2, B 2/2.
    BPSN of A (.8, .2 against .7, .3): 2 of 4; of B (.1 against .9): 1. BNSP of A (.9 against .1): 1; of B (.7, .3 against
    .8, .2): 2 of 4. M₋₅ of (½, 1) is ((32 + 1)/2)^(−1/5).
    """
    truth = np.array([1, 0, 0, 1, 1, 0], bool)
    score = np.array([0.9, 0.8, 0.2, 0.7, 0.3, 0.1])
    members = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], bool)
    low = 16.5**-0.2
    assert label_auc(truth, score) == pytest.approx(7 / 9)
    assert power_mean(np.array([0.5, 1.0])) == pytest.approx(low)
    assert kaggle_score_all(truth, score, members) == pytest.approx((7 / 9 + 1 + low + low) / 4)


def test_kaggle_counts_groups_with_more_than_500_texts() -> None:
    rng = np.random.default_rng(0)
    truth, score = rng.random(1200) < 0.4, rng.random(1200)
    members = np.stack([np.arange(1200) < size for size in (501, 500, 40)])
    assert kaggle_score(truth, score, members) == kaggle_score_all(truth, score, members[:1])
    assert kaggle_score(truth, score, members) != kaggle_score_all(truth, score, members)
    assert np.isnan(kaggle_score(truth, score, members[1:]))


def test_chance_gives_the_variance_that_simulation_gives() -> None:
    rng = np.random.default_rng(0)
    sizes = (40, 10, 5)
    group = np.repeat(np.arange(3), sizes)
    members = np.stack([group == one for one in range(3)])
    truth = np.zeros(len(group), bool)
    called = (rng.random((20_000, len(group))) < 0.3).astype(float)
    simulated = fpr_variance(truth, called, members).mean()
    expected = 0.3 * 0.7 * np.mean([1 / size for size in sizes])
    assert simulated == pytest.approx(expected, rel=0.03)
    one = np.zeros(len(group))
    one[:11] = 1
    assert fpr_variance_chance(truth, one, members) == pytest.approx(0.2 * 0.8 * np.mean([1 / size for size in sizes]))


def test_flips_are_counted_either_way() -> None:
    assert flip_rate(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])) == pytest.approx(2 / 3)
