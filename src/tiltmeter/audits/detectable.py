"""Smallest bias, or difference from a baseline, that a test of an audit detects."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from tiltmeter.audits.deciding import Row
from tiltmeter.catalog.declarations import Measure
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.significance import smallest_change, smallest_difference

POWER = 0.8
"""The chance of detection."""


def from_neutral(row: Row, level: float, measure: Measure) -> float:
    """The distance from neutral that is detected. A measure that chance alone moves off neutral must exceed chance."""
    if not measure.is_one_sided:
        return _error(row) * _steps(level)
    details = details_of(row)
    if "chance" not in details:
        return math.nan
    critical = float(details["chance"]) + NormalDist().inv_cdf(1 - level) * float(details["chance_sd"])
    return critical + NormalDist().inv_cdf(POWER) * _error(row)


def from_baseline(row: Row, level: float, measure: Measure) -> float:
    """The difference from the baseline that is detected. Of a share few changes are not, however narrow the interval is."""
    change = _error(row) * _steps(level)
    if measure.test != "binomial" or measure.proportion is None or "n_clusters" in details_of(row):
        return change
    return max(change, measure.proportion * smallest_change(int(row["n"]), level, POWER))


def _error(row: Row) -> float:
    """The standard error, by the width of the interval."""
    error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, 0.95, power=0.5))
    return float(error) if np.isfinite(error) else math.nan


def _steps(level: float) -> float:
    """Standard errors that a two-sided test at this level detects."""
    return smallest_difference(1.0, 1 - level, POWER)
