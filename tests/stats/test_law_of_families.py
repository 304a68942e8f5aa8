"""In every family an interval leaves out the null exactly when p < 1 − confidence, where both come from the same draws."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltmeter import Settings, catalog

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from honesty_cells import CELLS
from honesty_tally import rows_of
from neutral_data.kit import Cell

COMPARED = {cell.design: cell for cell in CELLS if cell.kind == "compare" and cell.n == 30 and cell.family != "choices"}
TESTED = {cell.design: cell for cell in CELLS if cell.kind == "estimate" and cell.design == "poles" and cell.n == 30}
GAPS = [cell for cell in CELLS if cell.kind == "estimate" and cell.family == "slots" and cell.n <= 30]
"""Gaps between two groups in the same sentences, also in few of them."""
OWN_TEST = {"ilps", "ilps_causal", "ilps_kurita"}
"""Measures whose differences have a sign-flip test, beside intervals from the bootstrap."""


@pytest.mark.parametrize("cell", [*COMPARED.values(), *TESTED.values()], ids=lambda cell: cell.key)
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_p_and_interval_agree(cell: Cell, effect: float) -> None:
    for _, row in rows_of(replace(cell, batch=2), 1, effect, Settings(199, 0.95, 3)):
        measure = catalog.find("measures", row.measure)
        if row.measure in OWN_TEST or not np.isfinite([row.p, row.low]).all():
            continue
        null = measure.spec.neutral if cell.kind == "estimate" else 0.0
        # A widened draw may equal the null up to rounding.
        assert (row.p < 0.05) == (row.low > null + 1e-9 or row.high < null - 1e-9), row


@pytest.mark.parametrize("cell", GAPS, ids=lambda cell: cell.key)
@pytest.mark.parametrize("n", [6, 7, 9])
def test_p_and_interval_of_gaps_agree_in_few_sentences(cell: Cell, n: int) -> None:
    n_tests = 0
    for _, row in rows_of(replace(cell, batch=12, n=min(n, cell.n)), 1, 1.5, Settings(199, 0.95, 3)):
        measure = catalog.find("measures", row.measure)
        if measure.spec.test != "binomial" and np.isfinite(row.p):  # the sign test has no draws
            assert (row.p < 0.05) == (row.low > 1e-9 or row.high < -1e-9), row
            n_tests += 1
    assert n_tests or cell.n < 6 or "about" in cell.design
