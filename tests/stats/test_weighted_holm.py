"""Holm's correction with weights keeps the familywise error rate, and equal weights change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter.stats.significance import holm

WEIGHTS = [0.4, 0.4, *[0.2 / 7] * 7]


def test_equal_weights_are_the_plain_correction() -> None:
    p = [0.01, 0.2, float("nan"), 0.04]
    assert holm(p, [2.0] * 4) == pytest.approx(holm(p), nan_ok=True)


def test_one_wrong_rejection_in_twenty_families() -> None:
    rng = np.random.default_rng(5)
    wrong = np.mean([min(holm(list(row), WEIGHTS)) < 0.05 for row in rng.random((10_000, 9))])
    assert 0.044 < wrong < 0.055


def test_a_heavier_test_needs_less_evidence() -> None:
    p = [0.01] + [0.6] * 8
    assert holm(p, WEIGHTS)[0] == pytest.approx(0.025) and holm(p)[0] == pytest.approx(0.09)
