"""The difference of two paired numbers, with interval and p, from the same draws of items for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Floats
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import FEWEST, bootstrap_p, exchange_interval, percentile_interval
from tiltmeter.stats.measured import ROUNDING
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import exact_proportion_interval, permutation_p
from tiltmeter.stats.units import ITEMS, PROMPTS, Units

CONSTANT = "constant"
"""The detail that marks a difference which all resamples repeat."""
Exchanged = Callable[[], tuple[Floats, bool]]
NOISE = 3.0
"""Standard errors of a mean of draws within which it is no bias."""


def paired_difference(
    row: Difference,
    values: Sequence[float],
    draws: Sequence[Floats],
    measure: Entry,
    settings: Settings,
    p: float | None = None,
    units: Units | None = None,
    exchanged: Exchanged | None = None,
) -> Difference:
    """Subtract the second value from the first. Interval and p come from the draws, unless an exact test gave p.

    The draws of a share, or of a one-sided measure, mistake noise for a difference. For shares both come from exchanging the
    two models in random units, where a family can; for one-sided measures, from the wider of the two.

    Args:
        row: The row to fill.
        values: The values of the two models.
        draws: The values on the same resampled items.
        measure: The measure.
        settings: Level of the interval.
        p: Of an exact test, where there is one.
        units: The independent units that were drawn. Default: the items of the row.
        exchanged: Makes the differences after exchanging the two models in random units, and says whether all ways are
            there. Called for shares and one-sided measures only.
    """
    difference = values[0] - values[1]
    row = replace(row, value=values[0], baseline_value=values[1], difference=difference)
    row = row if p is None else replace(row, p=p)
    units = Units.independent(row.n) if units is None else units
    if obstacle := _obstacle(difference, units, p):
        return replace(row, note=obstacle)
    moved = draws[0] - draws[1]
    moved = moved[~np.isnan(moved)]
    is_constant = len(moved) > 0 and bool(np.ptp(moved) <= ROUNDING * np.abs(moved).max())
    if is_constant:
        same = p is None and difference == 0  # no exchange of the models would change anything
        row = replace(row, details={**row.details, CONSTANT: 1}, p=1.0 if same else row.p)
    if len(moved) < MINIMUM_RESAMPLES or is_constant:
        return replace(row, note="no interval: too few items, because all resamples give the same difference")
    drawn = "" if units.called in (PROMPTS, ITEMS) else units.text
    swapped = None
    if p is None and exchanged is not None and (measure.spec.is_one_sided or measure.spec.proportion is not None):
        others, is_exact = exchanged()
        swapped = replace(row, p=permutation_p(difference, others, 0.0, is_exact=is_exact), note=drawn)
        low, high = exchange_interval(difference, others, settings.confidence, is_exact=is_exact)
        if np.isnan(low):
            return replace(swapped, note=f"no interval: {units.n} independent items cannot reach this level of confidence")
        swapped = _within_range(replace(swapped, low=low, high=high), measure)
        if not measure.spec.is_one_sided:
            return swapped
    if measure.spec.is_one_sided:  # see bounded_interval: take out the bias of resampling
        moved = moved - _bias(moved, difference)
    moved = difference + (moved - difference) * units.widening(settings.confidence)
    low, high = percentile_interval(moved, settings.confidence)
    row = replace(row, low=low, high=high, p=bootstrap_p(moved) if p is None else p, note=drawn)
    row = _within_range(row, measure)
    return row if swapped is None else _widest(row, swapped)


def with_exact_ends(row: Difference, discordant: tuple[int, int], whole: float, confidence: float) -> Difference:
    """Make the interval of a share leave out 0 exactly when the exact McNemar test of the same items is significant.

    Given how many items count for one model only, the first model's share of them has Clopper and Pearson's interval, which
    leaves out one half exactly when that test is significant. Where the interval from draws says otherwise, its end nearer
    to 0 is moved to the end that this one implies.

    Args:
        row: The difference, with its interval from draws.
        discordant: The items that count by the first model only, and by the second only.
        whole: The value of a share of 1.
        confidence: Level of the interval.
    """
    changed = sum(discordant)
    if not changed and row.n >= FEWEST:
        reach = whole * exact_proportion_interval(0, row.n, confidence)[1] / 100
        return replace(row, low=-reach, high=reach, note="exact interval, because no item counts for one model only")
    if np.isnan(row.low):
        return row
    shares = exact_proportion_interval(discordant[0], changed, confidence)
    low, high = (whole * (2 * share / 100 - 1) * changed / row.n for share in shares)
    if row.difference > 0 and (row.low > 0) != (low > 0):
        return replace(row, low=low)
    if row.difference < 0 and (row.high < 0) != (high < 0):
        return replace(row, high=high)
    return row


def _obstacle(difference: float, units: Units, p: float | None) -> str:
    """Return why nothing can be drawn."""
    if np.isnan(difference):
        return "undefined for one of the two models"
    if units.too_few and units.called != ITEMS:
        return f"no interval: {units.too_few}"
    tested = "no interval" if p is not None else "no interval and no p"
    few = f"{tested}: too few items, {units.n} of at least {FEWEST} independent ones"
    return few if units.n < FEWEST else ""


def _within_range(row: Difference, measure: Entry) -> Difference:
    """Keep an interval within the differences that the range of the measure allows, such as ±100 for a percentage."""
    most = measure.spec.whole or measure.spec.range[1] - measure.spec.range[0]
    return replace(row, low=max(row.low, -most), high=min(row.high, most))


def _widest(drawn: Difference, swapped: Difference) -> Difference:
    """Join what resampling and exchanging say about a one-sided measure: the wider interval, the larger p.

    Exchanging alone assumes that the models are alike item by item: two that are equally biased against different groups
    would differ "significantly", because a mixture of them is biased against none.
    """
    low, high = min(drawn.low, swapped.low), max(drawn.high, swapped.high)
    return replace(drawn, low=low, high=high, p=max(drawn.p, swapped.p))


def _bias(draws: Floats, value: float) -> float:
    """Distance of the mean of the draws from the value; 0 where it is within the noise of the draws.

    To move draws that are 0 off 0 for noise would make one text in twenty a certain difference.

    >>> _bias(np.array([0.0, 0.1] * 50), 0.051), round(_bias(np.array([0.3, 0.4] * 50), 0.051), 3)
    (0.0, 0.299)
    """
    bias = float(draws.mean() - value)
    return bias if abs(bias) > NOISE * draws.std() / np.sqrt(len(draws)) else 0.0
