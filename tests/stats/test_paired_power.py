"""Power of McNemar's exact test: that of simulated pairs of models."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tiltmeter.stats.paired_power import smallest_change
from tiltmeter.stats.significance import binomial_p

SIMULATED = 4000
p_of = cache(binomial_p)


@pytest.mark.parametrize("n", [60, 262])
@pytest.mark.parametrize("level", [0.05, 0.0133])
@pytest.mark.parametrize("background", [0.0, 0.02, 0.1])
def test_the_smallest_change_is_detected_80_times_in_100(n: int, level: float, background: float) -> None:
    """Items that change either way besides make a change harder to detect."""
    change = smallest_change(background, n, level, 0.8)
    shares = [background + change, background, 1 - 2 * background - change]
    counts = np.random.default_rng(0).multinomial(n, shares, SIMULATED)
    found = np.mean([p_of(int(wins), int(losses)) < level for wins, losses, _ in counts])
    assert found == pytest.approx(0.8, abs=0.03)
    assert change > smallest_change(0.0, n, level, 0.8) or background == 0
