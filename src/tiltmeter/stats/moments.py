"""Resampling as a matrix product: how often each item is drawn, times what each item adds to a measure.

Many measures are functions of means over items: a share, the mean and spread of scores. Such a measure says in its file
what each item adds (`moments`) and what follows from the means (`of_moments`); the draws of one group of items then serve
all models and scorers at once. The draws are those of `resampling.bootstrap_alike`, and the numbers equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.stats.resampling import Floats, Sample, bootstrap_alike, exchanged, statistic

Ints = NDArray[np.int64]


def has_moments(measure: Entry) -> bool:
    """Whether a measure declares itself a function of means over items."""
    return measure.constant("moments") is not None


def bootstrap_together(measure: Entry, samples: Sequence[Sample], rng: np.random.Generator, resamples: int) -> list[Floats]:
    """The measure on resampled items, for samples of the same items: all samples share each draw."""
    if not has_moments(measure):
        return bootstrap_alike(measure, samples, rng, resamples)
    values = _Moments(measure, samples)
    drawn = [values.from_weights(counts) for counts in _counts(samples[0], rng, resamples)]
    return list(np.concatenate(drawn, axis=-1))


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
    moments = _Moments(measure, samples, sides)
    drawn = [moments.from_flips(flips.astype(np.float64)) for flips in samples[0].flips(rng, repeats)]
    return list(np.concatenate(drawn, axis=-1))


def values_of(measure: Entry, samples: Sequence[Sample]) -> list[float]:
    """The measure on the items themselves."""
    return [float(statistic(measure, sample.columns, sample.parts)) for sample in samples]


def _counts(sample: Sample, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
    """How often each item is in each draw: draws × items."""
    n = len(sample)
    for index in sample.draws(rng, resamples):
        rows = len(index)
        flat = (index + n * np.arange(rows)[:, None]).ravel()
        yield np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(np.float64)


class _Moments:
    """What each item of several samples adds to a measure (items × (samples × moments)), also with exchanged sides."""

    def __init__(self, measure: Entry, samples: Sequence[Sample], sides: tuple[str, str] | None = None) -> None:
        self.measure, self.n_samples = measure, len(samples)
        self.parts = samples[0].parts
        self.weighted = bool(measure.constant("WEIGHTED", False))
        self.weights = _weights(measure, samples[0])
        self.own = np.stack([self._of(sample.columns) for sample in samples], axis=1)
        if sides:
            one, other = sides
            swapped = [{**sample.columns, one: sample.columns[other], other: sample.columns[one]} for sample in samples]
            self.moved = np.stack([self._of(columns) for columns in swapped], axis=1) - self.own

    def _of(self, columns: Any) -> Floats:
        read = {name: columns[name] for name in self.measure.parameters}
        return np.stack(
            [np.broadcast_to(moment, len(self.parts)) for moment in self.measure.constant("moments")(**read)], -1
        )

    def from_weights(self, counts: Floats) -> Floats:
        """Samples × draws."""
        return self._finished(lambda at: counts[:, at] @ self._flat(self.own, at))

    def from_flips(self, flips: Floats) -> Floats:
        """Samples × draws."""
        return self._finished(lambda at: flips[:, at] @ self._flat(self.moved, at) + self._flat(self.own, at).sum(axis=0))

    def _flat(self, moments: Floats, at: Any) -> Floats:
        part = moments[at] * self.weights[at][:, None, None]
        return np.asarray(part.reshape(len(part), -1), dtype=np.float64)

    def _finished(self, sums: Any) -> Floats:
        """The measure from its sums; for a weighted measure, the mean of the parts where it is defined."""
        everything = [slice(None)] if not self.weighted else [self.parts == code for code in np.unique(self.parts)]
        values, sizes = [], []
        for at in everything:
            size = len(self.parts) if isinstance(at, slice) else int(at.sum())
            means = sums(at).reshape(-1, self.n_samples, self.own.shape[-1]) / (size if self.weights_are_plain else 1)
            with np.errstate(invalid="ignore", divide="ignore"):
                values.append(self.measure.constant("of_moments")(*np.moveaxis(means, -1, 0), n=size).T)
            sizes.append(size)
        if not self.weighted:
            return np.asarray(values[0], dtype=np.float64)
        stacked = np.array(values, dtype=np.float64)
        share = np.array(sizes, dtype=np.float64)[:, None, None] * ~np.isnan(stacked)
        total = share.sum(axis=0)
        whole = np.divide(np.nansum(stacked * share, axis=0), total, out=np.full(total.shape, np.nan), where=total > 0)
        return np.asarray(whole, dtype=np.float64)

    @property
    def weights_are_plain(self) -> bool:
        """Whether every item counts alike, so that sums are divided by how many there are."""
        return "target" not in self.measure.parameters


def _weights(measure: Entry, sample: Sample) -> Floats:
    """Equal weights for all items; for measures over targets, equal weights for all targets."""
    if "target" not in measure.parameters:
        return np.ones(len(sample))
    codes, counts = np.unique(sample.columns["target"], return_inverse=True, return_counts=True)[1:]
    return np.asarray(1.0 / (counts[codes] * len(counts)), dtype=np.float64)
