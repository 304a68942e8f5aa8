"""Intervals: they leave out a value exactly when the test of the same draws rejects it, and hold the truth often enough."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import (
    bootstrap_p,
    difference_interval,
    percentile_interval,
    prevalence_interval,
    wilson_interval,
)
from tiltmeter.stats.measured import (
    DrawnShare,
    bootstrap_test,
    count_interval,
    interval_of,
    share_difference_interval,
    units_for,
)
from tiltmeter.stats.resampling import Sample
from tiltmeter.stats.significance import binomial_p, exact_proportion_interval
from tiltmeter.stats.units import Units

PAIRED = [entry for entry in catalog.entries("measures") if entry.spec.neutral is not None or entry.spec.role == "cost"]


@pytest.mark.parametrize("n", [100, 199, 999, 1000])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_an_interval_leaves_out_what_its_test_rejects(n: int, confidence: float) -> None:
    draws = np.random.default_rng(n).normal(0.3, 1.0, n).round(1)
    low, high = percentile_interval(draws, confidence)
    for null in np.linspace(-4, 4, 161):
        assert (bootstrap_p(draws, null) < round(1 - confidence, 9)) == (null < low or null > high)


@pytest.mark.parametrize("measure", PAIRED, ids=lambda entry: entry.name)
def test_p_and_interval_of_a_difference_agree(measure: catalog.Entry) -> None:
    """Both come from the same draws, widened alike, so no row has p < 0.05 with an interval that holds 0."""
    rng = np.random.default_rng(1)
    for shift in np.linspace(0, 4, 41):
        draws = [rng.normal(shift, 1.0, 400), rng.normal(0.0, 1.0, 400)]
        known = Difference("b", "f", "s", measure.name, "all", "all", "x", "y", n=12)
        row = paired_difference(known, [shift, 0.0], draws, measure, Settings(400))
        assert (row.p < 0.05) == (row.low > 0 or row.high < 0)


def test_an_exact_interval_agrees_with_the_exact_test() -> None:
    """Without ties the Clopper–Pearson interval leaves out 50 exactly when the binomial test rejects it."""
    measure = catalog.find("measures", "bias_score")
    for n in (6, 13, 40):
        for wins in range(1, n):
            draws = np.random.default_rng(wins).binomial(n, wins / n, 300) * 100 / n
            low, high, _ = interval_of(measure, n, 100 * wins / n, draws, Settings(300))
            assert (binomial_p(wins, n - wins) < 0.05) == (low > 50 or high < 50)
            assert (low, high) == pytest.approx(exact_proportion_interval(wins, n, 0.95))


def test_a_one_sided_interval_holds_neutral_unless_the_test_rejects_it() -> None:
    measure, draws = catalog.find("measures", "kls"), np.random.default_rng(0).normal(70.0, 2.0, 300)
    assert interval_of(measure, 40, 70.0, draws, Settings(300), p=0.2)[0] == 50.0
    assert interval_of(measure, 40, 70.0, draws, Settings(300), p=0.01)[0] > 60.0
    similar = catalog.find("measures", "jss")
    assert interval_of(similar, 40, 80.0, draws, Settings(300), p=0.2)[1] == 100.0


def test_few_units_have_no_interval_and_no_p() -> None:
    measure, draws = catalog.find("measures", "mps_gap"), np.random.default_rng(0).normal(size=300)
    low, high, note = interval_of(measure, 4, 0.0, draws, Settings(300))
    assert np.isnan([low, high]).all() and note
    known = Difference("b", "f", "s", "mps_gap", "all", "all", "x", "y", n=4)
    row = paired_difference(known, [1.0, 0.0], [draws, np.zeros(300)], measure, Settings(300))
    assert np.isnan([row.low, row.high, row.p]).all() and row.note and row.difference == 1.0


def test_intervals_of_few_units_are_as_wide_as_students() -> None:
    from scipy.stats import t

    values = np.random.default_rng(4).normal(size=8)
    draws = np.random.default_rng(5).normal(values.mean(), values.std() / np.sqrt(8), 20_000)
    low, high, _ = interval_of(catalog.find("measures", "mps_gap"), 8, float(values.mean()), draws, Settings(20_000))
    reach = t.ppf(0.975, 7) * values.std(ddof=1) / np.sqrt(8)
    assert (high - low) / 2 == pytest.approx(reach, rel=0.03)


def test_differences_of_few_units_are_widened_like_single_values() -> None:
    draws = np.random.default_rng(5).normal(1.0, 0.1, 2000)
    measure, reach = catalog.find("measures", "mps_gap"), {}
    for n in (6, 100_000):
        known = Difference("b", "f", "s", "mps_gap", "all", "all", "x", "y", n=n)
        row = paired_difference(known, [1.0, 0.0], [draws, np.zeros(2000)], measure, Settings(2000))
        reach[n] = row.high - row.low
    assert reach[6] / reach[100_000] == pytest.approx(Units.independent(6).widening(0.95), rel=1e-3)


def test_wilson_and_newcombe_are_the_textbook_intervals() -> None:
    """56 of 70 against 48 of 80 (Newcombe, 1998, method 10): 0.0524 to 0.3339."""
    parts = [wilson_interval(k / n, n, 1e9, 0.95) for k, n in ((56, 70), (48, 80))]
    low, high = difference_interval((0.8, 0.6), (parts[0], parts[1]))
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=5e-4)


def test_a_gap_of_two_rates_of_zero_has_an_interval_around_zero() -> None:
    nothing = np.zeros(200)
    one, other = (DrawnShare(0.0, nothing, Units.independent(n)) for n in (40, 60))
    low, high = share_difference_interval(one, other, Settings(200))
    assert -0.1 < low < 0 < high < 0.15


def test_correlated_shares_have_a_shorter_interval() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(0.3, 0.05, 500)
    alone, other = rng.normal(0.3, 0.05, 500), common + rng.normal(0, 0.005, 500)
    one, far, near = (DrawnShare(0.3, draws, Units.independent(80)) for draws in (common, alone, other))
    wide = share_difference_interval(one, far, Settings(500))
    short = share_difference_interval(one, near, Settings(500))
    assert short[1] - short[0] < 0.4 * (wide[1] - wide[0])


def test_draws_within_small_strata_are_widened() -> None:
    """Draws of five items each have 4/5 of the variance."""
    measure = catalog.find("measures", "stereotype_rate")
    stratum = np.repeat(np.arange(6), 5)
    columns = {name: np.zeros(30) for name in ("stereo", "anti")} | {"target": stratum, "pole": stratum % 2}
    units = units_for(measure, Sample.of(columns, stratum, np.zeros(30, dtype=np.int64)))
    assert units.m == 5.0 and units.df == 24
    rng = np.random.default_rng(0)
    for centre in np.linspace(0.7, 1.3, 31):
        draws = rng.normal(centre, 0.1, 400)
        low, high, _ = interval_of(measure, units, centre, draws, Settings(400))
        p = bootstrap_test(measure, units, centre, draws, Settings(400))
        assert (p < 0.05) == (low > 1 or high < 1)


def test_a_corrected_share_covers_with_a_judge_of_known_errors() -> None:
    """Rates of 10 % by a judge that was measured on 100 texts of each kind."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        hits, alarms = int(rng.binomial(100, 0.8)), int(rng.binomial(100, 0.05))
        share = rng.binomial(150, 0.1 * 0.8 + 0.9 * 0.05) / 150
        low, high = prevalence_interval(share, 150.0, ((hits, 100), (alarms, 100)), 0.95, 149)
        held += low <= 0.1 <= high
    assert 0.92 <= held / 400 <= 0.99
    assert np.isnan(prevalence_interval(0.1, 150.0, ((5, 100), (50, 100)), 0.95, 149)).all()


def test_seeds_are_a_second_level() -> None:
    one = Units.independent(200)
    assert one.with_seeds(1, float("nan")).widening(0.95) == one.widening(0.95)
    assert one.with_seeds(3, 0.0).widening(0.95) == pytest.approx(one.widening(0.95), rel=0.01)
    assert one.with_seeds(3, 1.0).widening(0.95) == pytest.approx(np.sqrt(200 / 199 * 3 / 2) * 4.3027 / 1.95996, rel=1e-3)


@pytest.mark.parametrize("clusters", [10, 30])
def test_a_share_of_few_events_in_clusters_is_covered(clusters: int) -> None:
    """No cluster may happen to have several of the few events, as if they were independent: 91 % without half an event."""
    rng = np.random.default_rng(0)
    level = 0.5 * rng.standard_normal((4000, clusters, 1)) + 0.35 * rng.standard_normal((4000, clusters, 25))
    events = level + 0.7 * rng.standard_normal(level.shape) > 1.6
    shares, truth, units = events.mean(axis=2), 0.0427, Units(5 * clusters, clusters, float(clusters), "clusters")
    held = 0
    for sample in shares:
        share, error = sample.mean(), sample.std() / np.sqrt(clusters)
        low, high = wilson_interval(share, units.texts(share, error), units.of_shares[0], 0.95) if error else (0.0, 1.0)
        held += low <= truth <= high
    assert held / len(shares) > 0.94


def test_half_an_event_changes_nothing_where_texts_are_independent() -> None:
    assert Units.independent(100).texts(0.5, 0.05) == pytest.approx(99.0)
    assert Units.independent(100).texts(0.02, 0.1) == pytest.approx(0.02 * 0.98 / 0.1**2 * 0.99)


@pytest.mark.parametrize("share", [0.001, 0.05, 0.5])
def test_half_an_event_leaves_a_cluster_at_one_text_at_least(share: float) -> None:
    units = Units.independent(20)
    error = np.sqrt(share * (1 - share) / 20 * 19 / 20) * (1 - 1e-9)  # as of a little more than 20 independent texts
    assert units.texts(share, error) == pytest.approx(20.0)
    assert 20.0 < units.texts(share, error / 2) < 80.0


def test_a_share_that_is_counted_has_the_interval_of_its_draws() -> None:
    """The gate's plan asks what interval 3 of 30 would have; n draws vary as n − 1 items do."""
    ends = count_interval(catalog.find("measures", "any_negative"), 3, 30, 0.95)
    assert ends == pytest.approx(wilson_interval(0.1, 29.0, 29, 0.95))


def test_a_measure_may_need_more_units_than_others_for_an_interval() -> None:
    measure, draws = catalog.find("measures", "lms"), np.random.default_rng(0).normal(80, 5, 1000)
    low, _, note = interval_of(measure, 9, 80.0, draws, Settings())
    assert np.isnan(low) and "9 independent items" in note and "10" in note
    assert interval_of(measure, 10, 80.0, draws, Settings())[0] < 80


def test_an_area_near_its_end_has_an_interval_inside_its_range() -> None:
    measure, draws = (
        catalog.find("measures", "kaggle_score_all"),
        np.clip(np.random.default_rng(0).normal(0.98, 0.02, 1000), 0, 1),
    )
    low, high, _ = interval_of(measure, 10, 0.98, draws, Settings())
    assert low < np.quantile(draws, 0.025) and 0.98 < high <= 1
