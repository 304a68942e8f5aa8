"""One measure over one sample of items: its value, interval and p, as its MEASURE says they are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.stats.moments import exchange_together
from tiltmeter.stats.resampling import Floats, Sample, bounded_interval, percentile_interval, permuted
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import binomial_p, exact_proportion_interval, permutation_p

ROUNDING = 1e-12


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
    """Whether each item is on one side or the other, so that counting them is an exact test."""
    return measure.spec.test == "binomial"


def sides_of(measure: Entry, sample: Sample) -> NDArray[np.int64]:
    """+1, 0 or -1 for each item."""
    sides = measure.sides(*(sample.columns[name] for name in measure.parameters))
    return np.asarray(sides, dtype=np.int64)


def wins_and_losses(measure: Entry, sample: Sample) -> tuple[int, int]:
    """How many items are on either side."""
    sides = sides_of(measure, sample)
    return int((sides > 0).sum()), int((sides < 0).sum())


def interval_of(measure: Entry, n: int, value: float, draws: Floats, settings: Settings) -> tuple[float, float, str]:
    """The interval from a measure's draws, and a note if there is none or it is of another kind."""
    defined = draws[~np.isnan(draws)]
    if len(defined) < MINIMUM_RESAMPLES:
        return np.nan, np.nan, "too few defined resamples for an interval"
    note = f"{len(draws) - len(defined)} of {len(draws)} resamples undefined" if len(defined) < len(draws) else ""
    if np.ptp(defined) <= ROUNDING * np.abs(defined).max():  # an interval without width would claim certainty
        whole = measure.spec.proportion
        if whole is None:
            return np.nan, np.nan, "no interval, because all resamples give the same value"
        low, high = exact_proportion_interval(round(value / whole * n), n, settings.confidence)
        return low / (100 / whole), high / (100 / whole), "exact interval, because all resamples give the same value"
    if measure.spec.is_one_sided:
        return *bounded_interval(value, defined, settings.confidence, measure.spec.range), note
    return *percentile_interval(defined, settings.confidence), note


def p_values(
    measure: Entry,
    samples: Sequence[Sample],
    values: Sequence[float],
    sides: tuple[str, str],
    rng: np.random.Generator,
    settings: Settings,
) -> list[float]:
    """p of each of several samples of the same items: by the measure's own test if it has one, else by exchanging sides."""
    neutral = neutral_of(measure)
    if np.isnan(neutral):
        return [neutral] * len(samples)
    if has_exact_test(measure):
        return [binomial_p(*wins_and_losses(measure, sample)) for sample in samples]
    if measure.spec.test == "permutation":
        return [
            permutation_p(value, permuted(measure, sample, rng, settings.resamples), neutral)
            for value, sample in zip(values, samples, strict=True)
        ]
    start = rng.bit_generator.state
    swapped = exchange_together(measure, samples, sides, rng, settings.resamples)
    if measure.spec.is_one_sided:  # never exactly neutral by chance, so distances from neutral count
        centres = [neutral] * len(samples)
    else:
        rng.bit_generator.state = start
        rest = exchange_together(measure, [sample.turned(sides) for sample in samples], sides, rng, settings.resamples)
        centres = [_centre(*both) for both in zip(swapped, rest, strict=True)]
    return [permutation_p(*known) for known in zip(values, swapped, centres, strict=True)]


def _centre(draws: Floats, of_the_rest: Floats) -> float:
    """What a measure scatters around when items are exchanged at random, and what distances are taken from.

    Not neutral: a tie stays a tie when exchanged, and counts against the stereotype. Exchanging some items, and exchanging
    all others instead, are equally likely; the mean of the two is taken. For a share or a difference it is the same for
    every draw, (value + value with all exchanged)/2, so that the centre is exact and no matter of the seed.
    """
    both = (draws + of_the_rest)[~np.isnan(draws + of_the_rest)]
    return float(np.mean(both) / 2) if len(both) else float("nan")


def p_value(
    measure: Entry, sample: Sample, value: float, sides: tuple[str, str], rng: np.random.Generator, settings: Settings
) -> float:
    """p of one sample, as in `p_values`."""
    return p_values(measure, [sample], [value], sides, rng, settings)[0]
