"""Sets of units, such as words: statistics of two sets, resampled within each or permuted across, and means of one set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Design, Floats
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.measured import with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import sign_flip_p

Sets = tuple[Floats, Floats]
Statistic = Callable[[Floats, Floats], Floats]
"""A number of two sets, whose last axes are their units."""


def bootstrap_sets(statistic: Statistic, models: Sequence[Sets], n: int, rng: np.random.Generator) -> list[Floats]:
    """Compute a statistic of resampled sets, for models with the same units, which share all draws."""
    index = [np.concatenate(list(Design.independent(len(units)).indices(n, rng))) for units in models[0]]
    return [statistic(x[index[0]], y[index[1]]) for x, y in models]


def permuted_sets(statistic: Statistic, sets: Sets, n: int, rng: np.random.Generator) -> Floats:
    """Compute a statistic after permuting the units across the two sets."""
    both, first = np.concatenate(sets), len(sets[0])
    orders = Design.independent(len(both)).orders(n, rng)
    return np.concatenate([statistic(both[some[:, :first]], both[some[:, first:]]) for some in orders])


def exchanged_sets(statistic: Statistic, models: tuple[Sets, Sets], n: int, rng: np.random.Generator) -> Sets:
    """Compute a statistic of both models after exchanging them in random units of either set."""
    first, (ours, theirs) = len(models[0][0]), (np.concatenate(sets) for sets in models)
    flips = np.concatenate(list(Design.independent(len(ours)).flip(n, rng)[0]))
    flip = np.resize(flips, (n, len(ours)))
    moved = np.where(flip, theirs, ours), np.where(flip, ours, theirs)
    return statistic(moved[0][:, :first], moved[0][:, first:]), statistic(moved[1][:, :first], moved[1][:, first:])


def mean_draws(values: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Compute the mean of resampled units, the first axis."""
    return Design.independent(len(values)).drawn_sums(values, n, rng) / len(values)


def estimate_mean(row: Estimate, measure: Entry, values: Floats, rng: np.random.Generator, settings: Settings) -> Estimate:
    """Estimate a mean over units: the interval resamples them, p flips their signs."""
    draws = mean_draws(values, settings.resamples, rng)
    row = replace(row, value=float(values.mean()), p=sign_flip_p(values, rng))
    return with_interval(row, measure, row.n, draws, settings)


def compare_means(
    row: Difference, measure: Entry, values: Floats, rng: np.random.Generator, settings: Settings
) -> Difference:
    """Compare the means of two models (columns) over the same units (rows): p flips the signs of their differences."""
    draws = mean_draws(values, settings.resamples, rng).T
    p = sign_flip_p(values[:, 0] - values[:, 1], rng)
    means = [float(values[:, model].mean()) for model in (0, 1)]
    return paired_difference(row, means, list(draws), measure, settings, p)
