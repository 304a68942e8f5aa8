"""Differences of two models by measures that noise always moves to one side: the models are exchanged in random items."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import bounded_interval, exchange_interval
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.resampling import Sample, exchanged_models, statistic
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import Units

KNOWN = Difference("b", "f", "s", "kls", "all", "all", "x", "y", n=40)
DRAWS = [np.random.default_rng(0).normal(75.0, 1.0, 400), np.full(400, 60.0)]


def sample(stereo: list[float], anti: list[float], cluster: list[int] | None = None) -> Sample:
    nothing = np.zeros(len(stereo), dtype=np.int64)
    columns = {"stereo": np.array(stereo, dtype=float), "anti": np.array(anti, dtype=float)}
    return Sample.of(columns, nothing, nothing, None if cluster is None else np.array(cluster))


def test_all_exchanges_of_two_models_are_tried_where_items_are_few() -> None:
    measure = catalog.find("measures", "bias_score")
    samples = [sample([1, 1, 1, 0], [0, 0, 0, 1]), sample([0, 0, 1, 0], [1, 1, 0, 1])]
    found, is_exact = exchanged_models(measure, samples, np.random.default_rng(0), 100)
    assert is_exact and len(found) == 16
    assert sorted(found.tolist()) == [-50.0] * 4 + [0.0] * 8 + [50.0] * 4  # the models differ in two items, one or none
    values = [float(statistic(measure, one.columns, one.parts)) for one in samples]
    assert values[0] - values[1] == 50.0 == found.max()


def test_clusters_are_exchanged_whole() -> None:
    measure = catalog.find("measures", "bias_score")
    samples = [sample([1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]), sample([0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1])]
    found, is_exact = exchanged_models(measure, samples, np.random.default_rng(0), 100)
    assert is_exact and sorted(found.tolist()) == [-50.0, -50.0, 50.0, 50.0]


@pytest.mark.parametrize("n", [99, 199, 400, 1000])
@pytest.mark.parametrize("is_exact", [True, False])
def test_the_interval_leaves_out_zero_exactly_when_the_exchanges_do(n: int, is_exact: bool) -> None:
    others = np.random.default_rng(n).normal(0, 5.0, n).round(1)
    for difference in np.linspace(-20, 20, 161):
        low, high = exchange_interval(difference, others, 0.95, is_exact=is_exact)
        p = permutation_p(difference, others, 0.0, is_exact=is_exact)
        assert (p < 0.05) == (low > 1e-9 or high < -1e-9), difference


@pytest.mark.parametrize("name", ["kls", "fpr", "fpr_ratio"])
def test_shares_and_one_sided_measures_exchange_models(name: str) -> None:
    """The draws alone are sure of a difference of 15; the exchanges are not."""
    others, measure = np.linspace(-30, 30, 399), catalog.find("measures", name)
    row = paired_difference(KNOWN, [75.0, 60.0], DRAWS, measure, Settings(400), exchanged=lambda: (others, False))
    assert row.p == pytest.approx(0.5, abs=0.01) and row.low < 0 and row.high > 15
    alone = paired_difference(KNOWN, [75.0, 60.0], DRAWS, measure, Settings(400))
    assert alone.p < 0.05 and alone.low > 0


def test_two_sided_measures_do_not_exchange_models() -> None:
    measure = catalog.find("measures", "score_gap")
    row = paired_difference(
        KNOWN, [75.0, 60.0], DRAWS, measure, Settings(400), exchanged=lambda: pytest.fail("models were exchanged")
    )
    assert row.p < 0.05 and row.low > 0


def test_the_interval_of_a_standard_deviation_reaches_farther_up() -> None:
    """Standard deviations of few values are skewed; resamples of them are also too small."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=30)
    draws = rng.choice(values, (2000, 30)).std(axis=1, ddof=1)
    value = float(values.std(ddof=1))
    low, high, _ = interval_of(catalog.find("measures", "mps_gap_sd"), 30, value, draws, Settings(2000))
    assert high - value > 1.3 * (value - low)
    wider = np.log(value) + np.log(draws / value) * Units.independent(30).widening(0.95)
    ends = bounded_interval(float(np.log(value)), wider, 0.95, (-np.inf, np.inf))
    assert (low, high) == pytest.approx(tuple(np.exp(ends)))


def test_icat_is_corrected_for_the_bias_of_resampling() -> None:
    """At a lean of 50 every resample is lower: the interval must reach above the estimate all the same."""
    draws = 80.0 - np.abs(np.random.default_rng(0).normal(0, 5.0, 2000))
    _, high, _ = interval_of(catalog.find("measures", "icat"), 100, 78.0, draws, Settings(2000))
    assert 80.0 < high <= 100.0


def test_an_area_has_the_interval_of_a_share() -> None:
    measure = catalog.find("measures", "label_auc")
    low, high, _ = interval_of(measure, 60, 0.98, np.random.default_rng(0).normal(0.98, 0.01, 400).clip(0, 1), Settings(400))
    assert 0.9 < low < 0.96 and 0.98 < high < 1.0
    low, high, note = interval_of(measure, 60, 1.0, np.ones(400), Settings(400))
    assert low == pytest.approx(0.025 ** (1 / 60)) and high == 1.0 and note
