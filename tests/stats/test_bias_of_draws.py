"""Differences of measures that cannot cross neutral: the bias that resampling adds is removed."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import bounded_interval, percentile_interval
from tiltmeter.stats.significance import holm, smallest_difference


def test_bias_of_resampling_is_removed_from_one_sided_measures_only() -> None:
    rng = np.random.default_rng(0)
    draws = [rng.normal(66.0, 1.0, 1000), rng.normal(60.0, 1.0, 1000)]  # draws lie 3 beyond the difference of 3
    rows = {}
    for name in ("kls", "bias_score"):
        known = Difference("b", "f", "s", name, "all", "all", "x", "y", n=200)
        rows[name] = paired_difference(known, [63.0, 60.0], draws, catalog.find("measures", name), Settings())
    middle = {name: (row.low + row.high) / 2 for name, row in rows.items()}
    assert middle["kls"] == pytest.approx(3.0, abs=0.3) and middle["bias_score"] == pytest.approx(6.0, abs=0.3)
    assert rows["kls"].high - rows["kls"].low == pytest.approx(2 * 1.96 * np.sqrt(2), rel=0.1)


def test_the_smallest_difference_that_is_detected() -> None:
    assert smallest_difference(2.0, 0.95, 0.8) == pytest.approx(2.0 * (1.959964 + 0.841621), abs=1e-4)
    assert smallest_difference(1.0, 0.9, 0.5) == pytest.approx(1.644854, abs=1e-5)


def test_holm_is_monotone_and_skips_missing_values() -> None:
    assert holm([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.4, 0.6]) == pytest.approx([0.8, 0.8])
    assert np.isnan(holm([0.01, float("nan")])[1]) and holm([0.01, float("nan")])[0] == 0.01


def test_the_interval_of_a_bounded_measure_covers_both_corrections() -> None:
    """The draws have a long upper tail: reflected, it reaches farther down than the shifted draws do."""
    draws = 60.0 + np.random.default_rng(0).exponential(2.0, 4000)
    low, high = percentile_interval(draws, 0.95)
    lower, upper = bounded_interval(60.0, draws, 0.95, (50.0, 100.0))
    assert lower == 120.0 - high < low - 2.0 and upper == pytest.approx(high - (draws.mean() - 60.0))
    assert bounded_interval(60.0, draws, 0.95, (55.0, 62.0)) == (55.0, 62.0)
