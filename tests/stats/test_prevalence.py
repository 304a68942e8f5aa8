"""Interval of a share that a judge with errors counted, and limits of other intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.stats.differences import _within_range
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import independent_texts, prevalence_interval
from tiltmeter.stats.measured import bootstrap_test

Z = 1.959963984540054


def published(share: float, n: int, sensitivity: float, n_se: int, specificity: float, n_sp: int) -> tuple[float, float]:
    """Lang and Reiczigel (2014), equations 6, 7, 16 and 17, in sensitivity and specificity."""
    se, sp = (n_se * sensitivity + 1) / (n_se + 2), (n_sp * specificity + 1) / (n_sp + 2)
    seen = (n * share + Z**2 / 2) / (n + Z**2)
    value = (seen + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / (n_se + 2), sp * (1 - sp) / (n_sp + 2)
    shift = 2 * Z**2 * (value * of_se - (1 - value) * of_sp)
    variance = seen * (1 - seen) / (n + Z**2) + value**2 * of_se + (1 - value) ** 2 * of_sp
    reach = Z * variance**0.5 / (se + sp - 1)
    return max(0.0, value + shift - reach), min(1.0, value + shift + reach)


@pytest.mark.parametrize(("k", "n", "hits", "of", "alarms", "others"), [(30, 100, 40, 50, 5, 60), (9, 200, 18, 20, 1, 30)])
def test_corrected_shares_have_the_published_interval(k: int, n: int, hits: int, of: int, alarms: int, others: int) -> None:
    ours = prevalence_interval(k / n, float(n), ((hits, of), (alarms, others)), 0.95, 1e9)
    assert ours == pytest.approx(published(k / n, n, hits / of, of, 1 - alarms / others, others), abs=1e-6)


def test_few_units_vary_less_in_draws() -> None:
    assert independent_texts(0.5, 0.05, 5.0) == pytest.approx(80.0)


def test_a_difference_of_percentages_stays_within_100() -> None:
    row = replace(Difference("b", "f", "s", "bias_score", "all", "all", "x", "y"), low=-120.0, high=130.0)
    kept = _within_range(row, catalog.find("measures", "bias_score"))
    assert (kept.low, kept.high) == (-100.0, 100.0)


def test_four_units_have_no_p_from_draws() -> None:
    measure, draws = catalog.find("measures", "ss"), np.linspace(55, 65, 200)
    assert np.isnan(bootstrap_test(measure, 4, 60.0, draws, Settings(200)))
    assert bootstrap_test(measure, 40, 60.0, draws, Settings(200)) < 0.05
