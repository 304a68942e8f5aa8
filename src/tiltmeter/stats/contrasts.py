"""Difference of a measure between two groups of one model: its size, from the draws that gave the intervals of the two."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.estimates import Estimate, missing_columns
from tiltmeter.stats.intervals import NONE, bootstrap_p, bounded_interval
from tiltmeter.stats.measured import has_exact_test, wins_and_losses
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import fisher_p

DIFFERENCE = "|difference|"


def contrast(first: Measured, second: Measured, measure: Entry, settings: Settings, lacking: str = "") -> Estimate:
    """Estimate |value of one group − of another| (paper 1, Table 3), from the draws that gave the intervals of the two.

    p: Fisher's exact test where each item is on one side or the other, else from the bootstrap of the difference.

    Args:
        first: The estimate of one group with its draws.
        second: That of the other group.
        measure: The measure.
        settings: Level of the interval.
        lacking: Why nothing can be computed, if so.
    """
    rows = [first.row, second.row]
    missing = sum((Counter(json.loads(row.missing) if row.missing else {}) for row in rows), Counter[str]())
    n, n_ties = sum(row.n for row in rows), sum(row.n_ties for row in rows)
    row = replace(first.row, group=DIFFERENCE, n=n, n_ties=n_ties, neutral=0.0, note="", **missing_columns(missing))
    row = replace(row, value=np.nan, low=np.nan, high=np.nan, p=np.nan)
    moved = first.row.value - second.row.value
    if lacking or np.isnan(moved) or first.draws is None or second.draws is None:
        return replace(row, note=lacking or "undefined for one of the two groups")
    draws = first.draws - second.draws
    draws = draws[~np.isnan(draws)]
    if len(draws) < MINIMUM_RESAMPLES:
        return replace(row, value=abs(moved), note="too few defined resamples for an interval")
    lowest, highest = measure.spec.range
    gaps = np.abs(draws)
    ends = bounded_interval(abs(moved), gaps, settings.confidence, (0.0, highest - lowest)) if np.ptp(gaps) else NONE
    if has_exact_test(measure) and first.sample and second.sample and first.sample.cluster is None:
        ours, theirs = wins_and_losses(measure, first.sample), wins_and_losses(measure, second.sample)
        p, how = fisher_p(*ours, *theirs), "by Fisher's exact test"
    else:
        if measure.spec.is_one_sided:  # take out the bias of resampling, as in `bounded_interval`
            draws = draws - (draws.mean() - moved)
        p, how = bootstrap_p(draws), "from the bootstrap of the difference"
    return replace(row, value=abs(moved), low=ends[0], high=ends[1], p=p, note=f"neutral at 0; p {how}")
