"""One measure over one sample of items: its value, interval and p, as its MEASURE says they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.catalog.declarations import EVERYWHERE
from tiltmeter.stats.estimates import Estimate, joined
from tiltmeter.stats.intervals import (
    FEWEST,
    NONE,
    Ends,
    bootstrap_p,
    bounded_interval,
    difference_interval,
    percentile_interval,
    wilson_interval,
)
from tiltmeter.stats.moments import exchange_together
from tiltmeter.stats.resampling import Floats, Sample, permuted
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import binomial_p, exact_proportion_interval, permutation_p
from tiltmeter.stats.units import ITEMS, Units

ROUNDING = 1e-12
TOO_FEW_DEFINED = "too few defined resamples for an interval"
SOME_UNDEFINED = "{} of {} resamples undefined"
CONSTANT = "because all resamples give the same value"


class DrawnShare(NamedTuple):
    """A share, its draws, and the independent units that were drawn."""

    value: float
    draws: Floats
    units: Units


def stratum_of(measure: Entry) -> str:
    """The column within which items are drawn."""
    return measure.spec.stratum


def strata_of(measures: Sequence[Entry]) -> list[str]:
    """The columns within which items are drawn for some measures."""
    return list(dict.fromkeys(map(stratum_of, measures)))


def neutral_of(measure: Entry) -> float:
    """The neutral point; NaN where there is none."""
    neutral = measure.spec.neutral
    return float("nan") if neutral is None else float(neutral)


def has_exact_test(measure: Entry) -> bool:
    """Return whether each item is on one side or the other, so that counting them is an exact test."""
    return measure.spec.test == "binomial"


def units_for(measure: Entry, sample: Sample) -> Units:
    """Count the independent units of a sample. Targets, within which some measures draw, may have few items each."""
    if sample.counted is not None or sample.cluster is not None or has_exact_test(measure):
        return sample.units
    return sample.units.in_strata(len(np.unique(sample.stratum))) if measure.spec.stratum == "target" else sample.units


def sides_of(measure: Entry, sample: Sample) -> NDArray[np.int64]:
    """+1, 0 or -1 for each item."""
    sides = measure.sides(*(sample.columns[name] for name in measure.parameters))
    return np.asarray(sides, dtype=np.int64)


def wins_and_losses(measure: Entry, sample: Sample) -> tuple[int, int]:
    """Count the items on either side."""
    sides = sides_of(measure, sample)
    return int((sides > 0).sum()), int((sides < 0).sum())


def bootstrap_test(measure: Entry, units: Units | int, value: float, draws: Floats, settings: Settings) -> float:
    """Compute p against neutral from the same widened draws that give the interval; NaN for too few units."""
    units, neutral = Units.independent(units) if isinstance(units, int) else units, neutral_of(measure)
    if units.n < FEWEST or np.isnan(neutral):
        return float("nan")
    return bootstrap_p(value + (draws - value) * units.widening(settings.confidence), neutral)


def interval_of(
    measure: Entry, units: Units | int, value: float, draws: Floats, settings: Settings, p: float = np.nan
) -> tuple[float, float, str]:
    """Make the interval from a measure's draws, and a note if there is none or it is of another kind.

    Args:
        measure: The measure, whose declaration says what kind of interval it has.
        units: The independent units that were drawn, or the number of items.
        value: The estimate.
        draws: The measure on resampled units.
        settings: Level of the interval.
        p: Of the test against neutral. The interval of a one-sided measure holds neutral where it is not significant.
    """
    units = Units.independent(units) if isinstance(units, int) else units
    if units.too_few and units.called != ITEMS:
        return *NONE, f"no interval: {units.too_few}"
    defined = draws[~np.isnan(draws)]
    if len(defined) < MINIMUM_RESAMPLES:
        return *NONE, TOO_FEW_DEFINED
    note = SOME_UNDEFINED.format(len(draws) - len(defined), len(draws)) if len(defined) < len(draws) else ""
    is_share = measure.spec.whole is not None
    is_constant = bool(np.ptp(defined) <= ROUNDING * np.abs(defined).max())  # without width it would claim certainty
    if is_constant and not is_share:
        return *NONE, f"no interval, {CONSTANT}"
    is_counted = has_exact_test(measure) and units.degrees is None and units.m == units.n  # exact for any n
    if is_share and (is_constant or is_counted or units.n >= FEWEST):
        note = f"exact interval, {CONSTANT}" if is_constant else note
        return *_of_share(measure, units, value, defined, settings), note
    fewest = max(FEWEST, measure.spec.fewest)
    if units.n < fewest:
        return *NONE, f"no interval: {units.n} independent {units.called}; at least {fewest} are needed"
    ends = _from_draws(measure, value, defined, units.widening(settings.confidence), settings)
    return *_with_neutral(ends, measure, p, settings), note


def with_interval(
    row: Estimate, measure: Entry, units: Units | int, draws: Floats, settings: Settings, *remarks: str
) -> Estimate:
    """Fill in the interval of a row that has its value and p, with further remarks at the end of its note."""
    low, high, note = interval_of(measure, units, row.value, draws, settings, row.p)
    return replace(row, low=low, high=high, note=joined(row.note, note, *remarks))


def _from_draws(measure: Entry, value: float, draws: Floats, widening: float, settings: Settings) -> Ends:
    """Percentiles of widened draws, corrected for the bias of resampling where the measure needs it."""
    kind = "corrected" if measure.spec.is_one_sided else measure.spec.interval
    if kind == "log" and value > 0 and draws.min() > 0:
        wider = np.log(value) + np.log(draws / value) * widening
        ends = bounded_interval(float(np.log(value)), wider, settings.confidence, EVERYWHERE)
        return float(np.exp(ends[0])), float(np.exp(ends[1]))
    wider, limits = value + (draws - value) * widening, measure.spec.range
    if kind != "percentile":
        return bounded_interval(value, wider, settings.confidence, limits)
    low, high = percentile_interval(wider, settings.confidence)
    return max(low, limits[0]), min(high, limits[1])


def _of_share(measure: Entry, units: Units, value: float, draws: Floats, settings: Settings) -> Ends:
    """Exact (Clopper–Pearson) where the test is the exact binomial one of the same items, or all agree; else Wilson's."""
    whole = measure.spec.whole or 1.0
    is_exact = has_exact_test(measure) and units.degrees is None and units.m == units.n
    if is_exact or np.ptp(draws) <= ROUNDING * np.abs(draws).max():
        return _exact(round(value / whole * units.n), units.n, whole, settings.confidence)
    share, error = value / whole, float(np.nanstd(draws, ddof=1)) / whole
    if measure.spec.proportion is None:  # an area: few errors may happen not to vary, so it varies like m units at least
        error = max(error, np.sqrt(share * (1 - share) / units.m))
    return _scaled(wilson_interval(share, units.texts(share, error), units.of_shares[0], settings.confidence), whole)


def count_interval(measure: Entry, count: int, n: int, confidence: float) -> Ends:
    """Interval that a share has if so many of n independent items count, without drawing any.

    >>> from tiltmeter import catalog
    >>> [round(end, 1) for end in count_interval(catalog.find("measures", "bias_score"), 30, 60, 0.95)]
    [36.8, 63.2]
    >>> [round(end, 2) for end in count_interval(catalog.find("measures", "fpr"), 30, 60, 0.95)]
    [0.37, 0.63]
    """
    whole, share = measure.spec.whole or 1.0, count / n
    if has_exact_test(measure) or count in (0, n):
        return _exact(count, n, whole, confidence)
    return _scaled(wilson_interval(share, n - 1.0, n - 1, confidence), whole)  # as draws of n items vary


def _exact(count: int, n: int, whole: float, confidence: float) -> Ends:
    low, high = exact_proportion_interval(count, n, confidence)
    return low / (100 / whole), high / (100 / whole)


def share_interval(share: float, draws: Floats, units: Units, settings: Settings) -> Ends:
    """Wilson's interval of a share, as of so many independent items as would vary like its draws."""
    texts = units.texts(share, float(np.nanstd(draws, ddof=1)))
    return wilson_interval(share, texts, units.of_shares[0], settings.confidence)


def share_difference_interval(first: DrawnShare, second: DrawnShare, settings: Settings) -> Ends:
    """Newcombe's interval of the difference of two shares, correlated as their draws are; none of too few items."""
    sides = first, second
    if min(side.units.n for side in sides) < 2 or min(side.units.m for side in sides) <= 1:
        return NONE
    if np.isnan([side.value for side in sides]).any():
        return NONE
    ends = share_interval(*first, settings), share_interval(*second, settings)
    both = np.isfinite(first.draws) & np.isfinite(second.draws)
    spreads = [float(np.std(side.draws[both])) if both.any() else 0.0 for side in sides]
    together = float(np.corrcoef(first.draws[both], second.draws[both])[0, 1]) if min(spreads) > ROUNDING else 0.0
    return difference_interval((first.value, second.value), ends, together)


def _scaled(ends: Ends, factor: float) -> Ends:
    return ends[0] * factor, ends[1] * factor


def _with_neutral(ends: Ends, measure: Entry, p: float, settings: Settings) -> Ends:
    """Extend the interval to neutral, an end of the range, where a test of neutral is not significant."""
    if np.isnan(p) or p < 1 - settings.confidence or not measure.spec.is_one_sided:
        return ends
    neutral = neutral_of(measure)
    return min(ends[0], neutral), max(ends[1], neutral)


def p_values(
    measure: Entry,
    samples: Sequence[Sample],
    values: Sequence[float],
    sides: tuple[str, str],
    rng: np.random.Generator,
    settings: Settings,
) -> list[float]:
    """p of each of several samples of the same items: by the measure's own test if it has one, else by exchanging sides.

    All samples have the same random numbers, so that p of one does not depend on the others.
    """
    neutral = neutral_of(measure)
    if np.isnan(neutral):
        return [neutral] * len(samples)
    if has_exact_test(measure) and samples[0].cluster is None:
        return [binomial_p(*wins_and_losses(measure, sample)) for sample in samples]
    start = rng.bit_generator.state
    if measure.spec.test == "permutation":
        p = []
        for value, sample in zip(values, samples, strict=True):
            rng.bit_generator.state = start
            p.append(permutation_p(value, permuted(measure, sample, rng, settings.resamples), neutral))
        return p
    swapped = exchange_together(measure, samples, sides, rng, settings.resamples)
    if measure.spec.is_one_sided:  # never exactly neutral by chance, so distances from neutral count
        centres = [neutral] * len(samples)
    else:
        rng.bit_generator.state = start
        rest = exchange_together(measure, [sample.turned(sides) for sample in samples], sides, rng, settings.resamples)
        centres = [_centre(*both) for both in zip(swapped, rest, strict=True)]
    is_exact = samples[0].has_all_flips
    return [permutation_p(*known, is_exact=is_exact) for known in zip(values, swapped, centres, strict=True)]


def _centre(draws: Floats, of_the_rest: Floats) -> float:
    """Point that a measure scatters around when items are exchanged at random, and what distances are taken from.

    Not neutral: a tie stays a tie when exchanged, and counts against the stereotype. Exchanging some items, and exchanging
    all others instead, are equally likely; the mean of the two is taken. For a share or a difference it is the same for
    every draw, (value + value with all exchanged)/2, so that the centre is exact and no matter of the seed.
    """
    both = (draws + of_the_rest)[~np.isnan(draws + of_the_rest)]
    return float(np.mean(both) / 2) if len(both) else float("nan")
