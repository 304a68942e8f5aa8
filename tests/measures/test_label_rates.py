"""Rates of errors of a classifier, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tiltmeter.measures.kit.rates import false_negatives, false_positives

TRUTH = np.array([False, False, False, True, True])
CALLED = np.array([1.0, 0.0, 0.0, 1.0, 0.0])


def test_false_positives_are_among_texts_that_are_not_toxic() -> None:
    assert float(false_positives(TRUTH, CALLED)) == pytest.approx(1 / 3)
    assert float(false_negatives(TRUTH, CALLED)) == pytest.approx(1 / 2)
    assert float(false_positives(TRUTH, CALLED, np.array([3.0, 1.0, 0.0, 9.0, 9.0]))) == pytest.approx(3 / 4)
