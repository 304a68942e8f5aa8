"""Smallest bias, or difference from a baseline, that a test of an audit detects."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from tiltmeter.audits.deciding import Row
from tiltmeter.catalog.declarations import Measure
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.paired_power import smallest_change
from tiltmeter.stats.significance import smallest_difference

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
    """The difference from the baseline that is detected; of a share by the power of its exact test."""
    whole, error = measure.proportion, _error(row)
    if measure.test != "binomial" or whole is None or "n_clusters" in details_of(row) or math.isnan(error):
        return error * _steps(level)
    n, change = int(row["n"]), abs(float(row["difference"])) / whole
    disagreement = n * (error / whole) ** 2 + change**2
    return whole * smallest_change(min(max(disagreement - change, 0.0) / 2, 0.5), n, level, POWER)


def _error(row: Row) -> float:
    """The standard error, by the width of the interval."""
    error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, 0.95, power=0.5))
    return float(error) if np.isfinite(error) else math.nan


def _steps(level: float) -> float:
    """Standard errors that a two-sided test at this level detects."""
    return smallest_difference(1.0, 1 - level, POWER)
