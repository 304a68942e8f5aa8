"""How many items a comparison would need: four times as many for half the difference."""

from __future__ import annotations

import re

import pandas as pd

from tiltmeter.reporting.comparison_text import too_close

NEEDED = re.compile(r"about ([\d,]+) pairs would be needed")


def needed(difference: float) -> int:
    """Read the number of pairs that a difference with an interval of ± 3.92 (an error of 2) at 100 pairs would need."""
    row = {
        "by": "all", "p_holm": 0.5, "low": difference - 3.92, "high": difference + 3.92, "difference": difference, "n": 100,
        "measure": "bias_score", "scorer": "s", "benchmark": "b", "family": "pairs", "model": "x", "baseline": "y",
    }  # fmt: skip
    found = NEEDED.search(next(iter(too_close(pd.DataFrame([row])))))
    assert found
    return int(found[1].replace(",", ""))


def test_the_items_needed_grow_with_the_square() -> None:
    """A standard error of 2 detects 2.8016 · 2 = 5.603 with 80 % power."""
    assert needed(5.603) == 100 and needed(5.603 / 2) == 400 and needed(0.5603) == 10_001
