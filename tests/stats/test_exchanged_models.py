"""Differences of two models by measures that noise always moves to one side: the models are exchanged in random items."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import bounded_interval, exchange_interval
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.moments import exchanged_models
from tiltmeter.stats.resampling import Sample, statistic
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


@pytest.mark.parametrize("name", ["kls", "jss", "jss_liu"])
@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(20), 2)])
def test_sums_give_the_same_exchanges(name: str, cluster: np.ndarray | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments subtract a common mean, which must be the same for items that come from either model."""
    measure, rng = catalog.find("measures", name), np.random.default_rng(0)
    stratum = np.sort(rng.integers(0, 3, 40))
    samples = [
        Sample.of({"stereo": rng.normal(level, 1, 40), "anti": rng.normal(size=40)}, stratum, stratum, cluster)
        for level in (0, 5)
    ]
    by_sums, _ = exchanged_models(measure, samples, np.random.default_rng(1), 100)
    monkeypatch.setattr("tiltmeter.stats.moments.has_moments", lambda _: False)
    assert by_sums == pytest.approx(exchanged_models(measure, samples, np.random.default_rng(1), 100)[0], abs=1e-9)


def test_few_units_have_no_interval_at_levels_that_they_cannot_reach() -> None:
    """Of the 32 ways to exchange five units, two are as far as what was observed: p is never below 1 / 16."""
    ways = np.array([sum(signs) for signs in product((-1.0, 1.0), repeat=5)])
    assert np.isnan(exchange_interval(5.0, ways, 0.95, is_exact=True)).all()
    assert np.isfinite(exchange_interval(5.0, ways, 0.9, is_exact=True)).all()
    row = paired_difference(KNOWN, [75.0, 60.0], DRAWS, catalog.find("measures", "fpr"), Settings(400),
                            units=Units.independent(5, "items"), exchanged=lambda: (ways, True))  # fmt: skip
    assert np.isnan(row.low) and "cannot reach" in row.note


def test_differences_stay_within_the_range_of_the_measure() -> None:
    others, draws = np.linspace(-0.9, 0.9, 399), [np.linspace(0.5, 1.0, 400), np.full(400, 0.1)]
    row = paired_difference(KNOWN, [0.75, 0.1], draws, catalog.find("measures", "negative_share"), Settings(400),
                            exchanged=lambda: (others, False))  # fmt: skip
    assert -1.0 <= row.low < 0 and row.high == 1.0


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
    unit = 1.0 if name == "kls" else 0.01
    others, measure = unit * np.linspace(-30, 30, 399), catalog.find("measures", name)
    values, draws = [75.0 * unit, 60.0 * unit], [unit * one for one in DRAWS]
    row = paired_difference(KNOWN, values, draws, measure, Settings(400), exchanged=lambda: (others, False))
    assert row.p == pytest.approx(0.5, abs=0.01) and row.low < 0 and row.high > 15 * unit
    alone = paired_difference(KNOWN, values, draws, measure, Settings(400))
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
