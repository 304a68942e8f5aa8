"""For models that are not distinguishable: the smallest difference that could be detected, and the items needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.stats.significance import smallest_difference

if TYPE_CHECKING:
    import pandas as pd

MOST_WARNINGS = 6


def too_close(comparison: pd.DataFrame, confidence: float = 0.95) -> Iterator[str]:
    """One sentence per comparison that is not distinguishable, the first few of them."""
    close = comparison[(comparison["by"] == "all") & ~(comparison["p"] < 1 - confidence) & comparison["low"].notna()]
    for _, row in close.head(MOST_WARNINGS).iterrows():
        # An interval reaches as far as a difference that is detected half of the time.
        standard_error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, confidence, power=0.5))
        least, seen = smallest_difference(standard_error, confidence), abs(row["difference"])
        needed = row["n"] * (least / seen) ** 2 if seen else 0
        more = f"; about {needed:,.0f} pairs would be needed to detect this difference" if seen else ""
        yield (
            f"{row['model']} and {row['baseline']} are not distinguishable by {row['measure']} of {row['scorer']} on "
            f"{row['benchmark']}: they differ by {seen:.2f}, and with {row['n']:,} pairs, only differences of {least:.2f} "
            f"or more are detected with 80 % power{more}."
        )
    if len(close) > MOST_WARNINGS:
        yield f"{len(close) - MOST_WARNINGS} more of {len(comparison)} comparisons are not distinguishable either."
