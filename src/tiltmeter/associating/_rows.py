"""Rows of the estimates table, and the facts they rest on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.group_estimating import MINIMUM_RESAMPLES
from tiltmeter.resampling import bounded_interval, percentile_interval
from tiltmeter.significance import holm

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass
class Found:
    """What one model answered to one benchmark: estimates, one row per fact behind them, and what a reader should know."""

    rows: list[Row] = field(default_factory=list)
    facts: list[Row] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    details: dict[str, Any] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        """Takes in what was found besides."""
        self.rows += other.rows
        self.facts += other.facts
        self.notes += other.notes
        self.details |= other.details


def estimate_row(measure: str, by: str, group: str, scorer: str, **known: Any) -> Row:
    """One estimate; what is not known is not a number. Neutral is 0 for every association."""
    blank = {"n": 0, "n_missing": 0, "n_ties": 0, "missing": "", "note": ""}
    numbers = dict.fromkeys(("value", "low", "high", "p", "p_holm"), np.nan)
    return {"scorer": scorer, "measure": measure, "by": by, "group": group, "neutral": 0.0} | blank | numbers | known


def interval(draws: Floats, confidence: float) -> Row:
    """The percentile interval of a bootstrap, where it has one."""
    defined = draws[np.isfinite(draws)]
    if len(defined) < MINIMUM_RESAMPLES or np.ptp(defined) == 0:
        return {}
    low, high = percentile_interval(defined, confidence)
    return {"low": low, "high": high}


def interval_above_zero(value: float, draws: Floats, confidence: float) -> Row:
    """For what cannot fall below 0: any noise moves it away from there (docs/intervals.md)."""
    defined = draws[np.isfinite(draws)]
    if len(defined) < MINIMUM_RESAMPLES or np.ptp(defined) == 0 or not np.isfinite(value):
        return {}
    low, high = bounded_interval(value, defined, confidence, (0.0, np.inf))
    return {"low": low, "high": high}


def reasons_text(reasons: Counter[str]) -> Row:
    """The columns that count what is missing."""
    return {"n_missing": reasons.total(), "missing": json.dumps(dict(reasons)) if reasons else ""}


def correct(rows: Sequence[Row]) -> None:
    """Holm's correction over these rows, in place."""
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
