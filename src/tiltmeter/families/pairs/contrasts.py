"""Differences of a measure between two groups: stereotypes about advantaged and about disadvantaged people, say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.intervals import bootstrap_p, bounded_interval
from tiltmeter.stats.resampling import Floats
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import fisher_p

DIFFERENCE = "|difference|"


@dataclass(frozen=True)
class Found:
    """The estimate of one group. For a contrast also its draws, and how many items are on either side where that counts."""

    row: Estimate
    draws: Floats | None = None
    sides: tuple[int, int] | None = None


def contrast(groups: Sequence[Found], measure: Entry, settings: Settings) -> Estimate:
    """|value of one group − of another| (paper 1, Table 3), from the draws that gave the intervals of the two.

    p: Fisher's exact test where each item is on one side or the other, else from the bootstrap of the difference.
    """
    one, other = groups
    rows = [one.row, other.row]
    missing = sum((Counter(json.loads(row.missing) if row.missing else {}) for row in rows), Counter[str]())
    known = replace(
        one.row,
        group=DIFFERENCE,
        n=sum(row.n for row in rows),
        n_missing=sum(row.n_missing for row in rows),
        n_ties=sum(row.n_ties for row in rows),
        missing=json.dumps(dict(missing)) if missing else "",
        neutral=0.0,
        value=np.nan,
        low=np.nan,
        high=np.nan,
        p=np.nan,
        note="",
    )
    empty = [row.group for row in rows if not row.n]
    if empty:
        return replace(known, note=f"not computed: no pair about {empty[0]} groups has all its scores")
    moved = one.row.value - other.row.value
    if np.isnan(moved) or one.draws is None or other.draws is None:
        return replace(known, note="undefined for one of the two groups")
    draws = one.draws - other.draws
    draws = draws[~np.isnan(draws)]
    if len(draws) < MINIMUM_RESAMPLES:
        return replace(known, value=abs(moved), note="too few defined resamples for an interval")
    lowest, highest = measure.spec.range
    reach = (0.0, highest - lowest)
    gaps = np.abs(draws)
    low, high = bounded_interval(abs(moved), gaps, settings.confidence, reach) if np.ptp(gaps) else (np.nan, np.nan)
    if one.sides and other.sides:
        p, how = fisher_p(*one.sides, *other.sides), "by Fisher's exact test"
    else:
        if measure.spec.is_one_sided:  # take out the bias of resampling, as in `bounded_interval`
            draws = draws - (draws.mean() - moved)
        p, how = bootstrap_p(draws), "from the bootstrap of the difference"
    return replace(known, value=abs(moved), low=low, high=high, p=p, note=f"neutral at 0; p {how}")
