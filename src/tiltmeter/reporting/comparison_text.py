"""Comparisons in words: how many differences are significant, and which differences the data can detect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement, number_text
from tiltmeter.families import find_family
from tiltmeter.stats.differences import CONSTANT
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.significance import smallest_difference

if TYPE_CHECKING:
    import pandas as pd

MOST_WARNINGS = 6
SAME = "{model} and {baseline} have the same value {by}, in every resample of {n:,} {unit}."
CLOSE = (
    "{model} and {baseline} do not differ significantly {by}: the difference is {difference_text}. "
    "With {n:,} {unit}, only differences of {least_text} or more are detected with 80 % power{more}."
)


def summaries(comparison: pd.DataFrame, confidence: float = 0.95) -> Iterator[str]:
    """One sentence per model and benchmark: how many of the differences are significant."""
    for (model, baseline, benchmark), rows in comparison.groupby(["model", "baseline", "benchmark"], sort=False):
        p = rows["p_holm"]
        tested, sure = int(p.notna().sum()), int((p < 1 - confidence).sum())
        if not tested:
            yield f"{model} against {baseline} on {benchmark}: no difference could be tested."
            continue
        found = f"{sure or 'none'} of {tested} differences {'is' if sure <= 1 else 'are'} significant"
        if tested == 1:
            found = f"the difference is {'' if sure else 'not '}significant"
        corrected = " after Holm's correction" if tested > 1 else ""
        yield f"{model} against {baseline} on {benchmark}: {found} (p < {1 - confidence:g}{corrected})."


def too_close(comparison: pd.DataFrame, confidence: float = 0.95) -> Iterator[str]:
    """One sentence per difference that is not significant, the first few of them."""
    close = comparison[(comparison["by"] == "all") & ~(comparison["p_holm"] < 1 - confidence)]
    close = close[[is_same(row) or not np.isnan(row["low"]) for row in close.to_dict("records")]]
    for _, row in close.head(MOST_WARNINGS).iterrows():
        yield _close(row, confidence)
    if len(close) > MOST_WARNINGS:
        yield f"{len(close) - MOST_WARNINGS} more of {len(comparison)} differences are not significant either."


def is_same(row: Any) -> bool:
    """Return whether two models have the same value, and every resample gave the same difference."""
    return bool(row["difference"] == 0 and details_of(row).get(CONSTANT))


def _close(row: Any, confidence: float) -> str:
    by = f"by {row['measure']} of {row['scorer']} on {row['benchmark']}"
    unit = find_family(row["family"]).UNIT
    if is_same(row):
        return Statement(SAME, "same-value", by=by, unit=unit, **{name: row[name] for name in ("model", "baseline", "n")})
    # An interval reaches as far as a difference that is detected half of the time.
    standard_error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, confidence, power=0.5))
    least, seen = smallest_difference(standard_error, confidence), abs(row["difference"])
    needed = row["n"] * (least / seen) ** 2 if seen else 0
    more = f"; about {number_text(needed, 0)} {unit} would be needed to detect this difference" if seen else ""
    places = _decimals(least)
    names = {name: row[name] for name in ("model", "baseline", "measure", "scorer", "benchmark", "n")}
    seen_text, least_text = number_text(seen, places), number_text(least, places)
    return Statement(
        CLOSE, "not-significant", **names, by=by, unit=unit, difference=seen, least=least, needed=needed,
        difference_text=seen_text, least_text=least_text, more=more,
    )  # fmt: skip


def _decimals(least: float) -> int:
    """Two decimals, or as many as a small number needs to be distinguishable from 0.

    >>> _decimals(3.2), _decimals(0.004)
    (2, 4)
    """
    return 2 if least >= 0.1 else int(1 - np.floor(np.log10(least)))
