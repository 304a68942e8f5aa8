"""Resampling as a matrix product: how often each item is drawn, times what each item adds to a measure.

Many measures are functions of means over items: a share, the mean and spread of scores. Such a measure says in its file
what each item adds (`moments`) and what follows from the means (`of_moments`); the draws of one group of items then serve
all models and scorers at once. The draws are those of `resampling.bootstrap_alike`, and the numbers equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.resampling import (
    Floats,
    Ints,
    Sample,
    bootstrap_alike,
    exchange_models,
    exchanged,
    places_of,
    statistic,
    statistic_of_parts,
    weighted_mean,
)


def has_moments(measure: Entry) -> bool:
    """Return whether a measure declares itself a function of means over items."""
    return measure.moments is not None


def bootstrap_together(measure: Entry, samples: Sequence[Sample], rng: np.random.Generator, resamples: int) -> list[Floats]:
    """The measure on resampled items, for samples of the same items: all samples share each draw."""
    if not has_moments(measure):
        return bootstrap_alike(measure, samples, rng, resamples)
    return list(_Moments(measure, samples).over(samples[0].counts(rng, resamples)))


def exchange_together(
    measure: Entry, samples: Sequence[Sample], sides: tuple[str, str], rng: np.random.Generator, repeats: int
) -> list[Floats]:
    """The measure after exchanging the two sides of random items, the same ones in every sample."""
    if not has_moments(measure):
        start = rng.bit_generator.state
        values = []
        for sample in samples:
            rng.bit_generator.state = start
            values.append(exchanged(measure, sample, sides, rng, repeats))
        return values
    own, turned = _Moments(measure, samples), _Moments(measure, [sample.turned(sides) for sample in samples])
    return list(own.moved_to(turned).over(flips.astype(np.float64) for flips in samples[0].flips(rng, repeats)))


def exchanged_models(
    measure: Entry, samples: Sequence[Sample], rng: np.random.Generator, repeats: int
) -> tuple[Floats, bool]:
    """Compute the difference of two models after exchanging them in random items, and say whether all ways were tried."""
    first = samples[0]
    if has_moments(measure):
        own, turned = (_Moments(measure, order, is_joint=True) for order in (samples, samples[::-1]))
        flips = first.flips(rng, repeats)
        ours, theirs = own.moved_to(turned).over(flip.astype(np.float64) for flip in flips)
        return ours - theirs, first.has_all_flips
    sides = [
        {name: sample.columns[name] for name in measure.parameters if np.asarray(first.columns[name]).dtype.kind == "f"}
        for sample in samples
    ]
    return exchange_models(
        first.design,
        (sides[0], sides[1]),
        lambda read: statistic(measure, {**first.columns, **read}, first.parts),
        repeats,
        rng,
    )


def values_of(measure: Entry, samples: Sequence[Sample]) -> tuple[list[float], Floats]:
    """The measure on the items themselves, and on the parts of each sample (parts × samples; none if not weighted)."""
    first = samples[0]
    columns = {
        name: first.columns[name]
        if first.columns[name].dtype.kind == "i"  # codes, the same for all
        else np.stack([sample.columns[name] for sample in samples])
        for name in measure.parameters
    }
    if not measure.spec.weighted:
        return np.atleast_1d(statistic(measure, columns, first.parts)).tolist(), np.empty((0, len(samples)))
    of_parts, sizes = statistic_of_parts(measure, columns, first.parts)
    return weighted_mean(of_parts, sizes).tolist(), of_parts


FINISHED_AT_ONCE = 1024
"""Draws whose sums are kept until the measure is computed from them: enough to be fast, few enough for little memory."""


class _Moments:
    """Contribution of each item of several samples to a measure, part by part: samples × items × moments.

    Every sample has products of its own, so that no digit of a number depends on what is computed beside it.
    """

    def __init__(self, measure: Entry, samples: Sequence[Sample], *, is_joint: bool = False) -> None:
        self.measure = measure
        whole = [slice(0, len(samples[0]))]
        self.weighted = measure.spec.weighted
        self.places = places_of(samples[0].parts) if self.weighted else whole
        added = self._joint(samples) if is_joint else np.stack([self._of(sample.columns) for sample in samples])
        self.weights = [_weights(measure, samples[0], at) for at in self.places]
        self.added = [added[:, at] * of_part for at, of_part in zip(self.places, self.weights, strict=True)]
        self.base = np.zeros((len(self.places), len(samples), 1, added.shape[-1]))
        self.of_varying_size = samples[0].cluster is not None

    def _joint(self, samples: Sequence[Sample]) -> Floats:
        """Moments that items of one sample can take from another: measures may subtract a mean of all that they read."""
        read = {name: np.concatenate([sample.columns[name] for sample in samples]) for name in self.measure.parameters}
        found = self._of(read)
        return found.reshape(len(samples), -1, found.shape[-1])

    def _of(self, columns: Mapping[str, Any]) -> Floats:
        read = {name: columns[name] for name in self.measure.parameters}
        n = len(next(iter(read.values())))
        moments = [np.broadcast_to(moment, n) for moment in self.measure.moments(**read)]
        self.n_moments = len(moments)
        moments += [np.zeros(n)] * (len(moments) == 1)  # for a product with one vector BLAS starts threads
        return np.stack(moments, axis=-1).astype(np.float64)

    def moved_to(self, turned: _Moments) -> _Moments:
        """Take weights as items that come from the other samples: sums begin with all items of these."""
        self.base, self.of_varying_size = np.stack([added.sum(axis=1, keepdims=True) for added in self.added]), False
        self.added = [theirs - ours for ours, theirs in zip(self.added, turned.added, strict=True)]
        return self

    def over(self, weights: Iterable[Floats]) -> Floats:
        """The measure for every row of weights (draws × items): samples × draws."""
        finished: list[Floats] = []
        waiting: list[list[Floats]] = []
        for rows in weights:
            sums = [rows[:, at] @ added for at, added in zip(self.places, self.added, strict=True)]
            waiting.append([self._mean(rows, n, of_part) for n, of_part in enumerate(sums)])
            if sum(means[0].shape[1] for means in waiting) >= FINISHED_AT_ONCE:
                finished.append(self._finished(waiting))
                waiting = []
        if waiting:
            finished.append(self._finished(waiting))
        return np.concatenate(finished, axis=-1)

    def _mean(self, rows: Floats, part: int, sums: Floats) -> Floats:
        """Divide by the size of each draw, which varies where clusters are drawn."""
        if not self.of_varying_size:
            return sums
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / (rows[:, self.places[part]] @ self.weights[part])[None], dtype=np.float64)

    def _finished(self, waiting: list[list[Floats]]) -> Floats:
        """The measure from its means; for a weighted measure, the mean of the parts where it is defined."""
        means = np.stack([np.concatenate(of_part, axis=1) for of_part in zip(*waiting, strict=True)]) + self.base
        columns = np.ascontiguousarray(np.moveaxis(means, -1, 0))[: self.n_moments]
        sizes = np.array([added.shape[1] for added in self.added], dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.measure.of_moments(*columns, n=sizes[:, None, None])
        values = np.asarray(values, dtype=np.float64)
        return weighted_mean(values, sizes) if self.weighted else values[0]


def _weights(measure: Entry, sample: Sample, at: slice | Ints) -> Floats:
    """Weight of each item of a part: all alike; for measures over targets, all targets alike."""
    if "target" not in measure.parameters:
        return np.full((len(sample.parts[at]), 1), 1.0 / len(sample.parts[at]))
    codes, counts = np.unique(sample.columns["target"][at], return_inverse=True, return_counts=True)[1:]
    return np.asarray(1.0 / (counts[codes] * len(counts)), dtype=np.float64)[:, None]
