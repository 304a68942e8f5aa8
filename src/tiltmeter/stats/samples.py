"""Rows of a measure over samples of the same items: value, interval and p of each, and differences of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.differences import paired_difference, with_exact_ends
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.measured import (
    bootstrap_test,
    has_exact_test,
    p_values,
    sides_of,
    units_for,
    with_interval,
)
from tiltmeter.stats.moments import bootstrap_together, exchanged_models, values_of
from tiltmeter.stats.resampling import Floats, Sample, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import binomial_p

Streams = Sequence[np.random.Generator]
"""Sources of resamples and of exchanges."""


@dataclass(frozen=True)
class Measured:
    """The estimate of a sample, and the measure on its resamples and on its parts."""

    row: Estimate
    draws: Floats | None = None
    sample: Sample | None = None
    parts: Floats = field(default_factory=lambda: np.empty(0))


def estimate_samples(
    measure: Entry,
    rows: Sequence[Estimate],
    samples: Sequence[Sample],
    streams: Streams,
    settings: Settings,
) -> list[Measured]:
    """Estimate a measure of several samples, such as those of the same items by different models, which share all draws.

    Args:
        measure: The measure, whose declaration says which test and interval it has.
        rows: The row of each sample to fill. Where the value is undefined it stays as it is.
        samples: The samples.
        streams: Sources of random numbers.
        settings: Settings of resampling.
    """
    units, sides = units_for(measure, samples[0]), samples[0].sides
    values, of_parts = values_of(measure, samples)
    draws = bootstrap_together(measure, samples, streams[0], settings.resamples)
    if measure.spec.test == "bootstrap" or (measure.spec.test is None and sides is None):
        p = [bootstrap_test(measure, units, *known, settings) for known in zip(values, draws, strict=True)]
    else:
        p = p_values(measure, samples, values, sides or ("", ""), streams[1], settings)
    estimates = []
    for n, (blank, sample) in enumerate(zip(rows, samples, strict=True)):
        row = blank
        if not np.isnan(values[n]):
            row = with_interval(replace(blank, value=values[n], p=p[n]), measure, units, draws[n], settings)
        estimates.append(Measured(row, draws[n], sample, of_parts[:, n]))
    return estimates


def compare_samples(
    row: Difference,
    measure: Entry,
    samples: Sequence[Sample],
    streams: Streams,
    settings: Settings,
) -> Difference:
    """Compare two models on the same items, which are resampled together. p of a share of items is McNemar's exact test.

    Args:
        row: The row to fill.
        measure: The measure.
        samples: The items as each model answered.
        streams: Source of resamples, and of exchanges of the two models where these may be exchanged.
        settings: Settings of resampling.
    """
    units = units_for(measure, samples[0])
    values = [float(statistic(measure, sample.columns, sample.parts)) for sample in samples]
    draws = bootstrap_together(measure, samples, streams[0], settings.resamples)
    exchanged = partial(exchanged_models, measure, samples, streams[1], settings.resamples) if streams[1:] else None
    if not has_exact_test(measure) or measure.spec.whole is None or samples[0].cluster is not None:
        return paired_difference(row, values, draws, measure, settings, units=units, exchanged=exchanged)
    ours, theirs = (sides_of(measure, sample) > 0 for sample in samples)
    discordant = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    difference = paired_difference(row, values, draws, measure, settings, binomial_p(*discordant), units)
    return with_exact_ends(difference, discordant, measure.spec.whole, settings.confidence)
