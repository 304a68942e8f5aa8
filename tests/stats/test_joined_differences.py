"""Differences of one-sided measures: exchanging and resampling are joined, so that neither alone makes a finding."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter import catalog
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.settings import Settings

SETTINGS = Settings(1000, 0.95, 0)


def difference_of(measure: str, spread_of_draws: float, spread_of_exchanges: float) -> Difference:
    """A difference of 3, with a wide or narrow distribution of either kind."""
    rng = np.random.default_rng(0)
    row = Difference("b", "f", "s", measure, "all", "all", "m", "k", n=100)
    draws = [60.0 + 3.0 + spread_of_draws * rng.standard_normal(1000), np.full(1000, 60.0)]
    others = spread_of_exchanges * rng.standard_normal(1000)
    entry = catalog.find("measures", measure)
    return paired_difference(row, [63.0, 60.0], draws, entry, SETTINGS, exchanged=lambda: (others, False))


@pytest.mark.parametrize(("draws", "exchanges", "found"), [(0.5, 0.5, True), (5.0, 0.5, False), (0.5, 5.0, False)])
def test_a_one_sided_difference_needs_both(draws: float, exchanges: float, found: bool) -> None:
    """Two models that are equally biased against different groups have a narrow null of exchanges."""
    difference = difference_of("kls", draws, exchanges)
    assert (difference.p < 0.05) == found and (difference.low > 0) == found


def test_a_share_is_judged_by_exchanges_alone() -> None:
    assert difference_of("bias_score", 5.0, 0.5).p < 0.05 < difference_of("bias_score", 0.5, 5.0).p
