"""Samples of items under a design, and measures applied to all of their draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import EXACT_FLIPS, Design, Floats, Ints, generator
from tiltmeter.stats.units import ITEMS, Units, units_of

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Columns of two models."""
__all__ = ["Floats", "Ints", "Sample", "generator"]


@dataclass(frozen=True)
class Sample:
    """Complete items in the order of their strata.

    `columns` are what measures read; `parts` are what the weighted ones average over (integer codes), and `order` is
    where each item stood before. `cluster`: items that are drawn together; None where all are independent. `sides`: the two
    columns that are exchanged for p, where a measure has no other test. `counted`: how many items count, if not all.
    """

    columns: Mapping[str, Any]
    stratum: Ints
    parts: Ints
    order: Ints
    cluster: Ints | None = None
    sides: tuple[str, str] | None = None
    counted: int | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Any], stratum: Ints, parts: Ints, cluster: Ints | None = None) -> Sample:
        """Sorts the items by stratum (stable, so that equal data give equal draws)."""
        order = np.argsort(stratum, kind="stable")
        sorted_columns = {name: values[order] for name, values in columns.items()}
        return cls(sorted_columns, stratum[order], parts[order], order, None if cluster is None else cluster[order])

    def __len__(self) -> int:
        return len(self.stratum)

    @cached_property
    def design(self) -> Design:
        """Dependence between the items."""
        if self.cluster is None:
            return Design.independent(len(self), self.stratum)
        return Design.clustered(self.cluster, self.stratum)

    @property
    def units(self) -> Units:
        """The independent items, or clusters of items."""
        if self.counted is not None:
            return Units.independent(self.counted)
        codes = None if self.cluster is None else self.design.cluster
        return replace(units_of(np.ones(len(self)), codes, ITEMS), called=ITEMS)

    def draws(self, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
        """Item indices drawn with replacement inside each stratum, some draws at a time."""
        yield from self.design.indices(resamples, rng)

    def counts(self, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
        """Number of times that each item is in each of the same draws: draws × items."""
        for weights in self.design.bootstrap(resamples, rng):
            yield weights if self.cluster is None else weights[:, self.design.cluster]

    def repeated(self, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
        """Item indices of drawn clusters, one draw at a time, since draws differ in size."""
        for weights in self.counts(rng, resamples):
            yield from (np.repeat(np.arange(len(self)), row.astype(np.int64))[None] for row in weights)

    def flips(self, rng: np.random.Generator, repeats: int) -> Iterator[NDArray[np.bool_]]:
        """Which items change sides in each permutation: all ways where there are few items."""
        for flip in self.design.flip(repeats, rng)[0]:
            yield flip if self.cluster is None else flip[:, self.design.cluster]

    @property
    def has_all_flips(self) -> bool:
        """Return whether there are so few items, or clusters of them, that all ways to exchange sides are tried."""
        return self.design.n_clusters <= EXACT_FLIPS

    def turned(self, sides: tuple[str, str]) -> Sample:
        """Return these items with their two sides exchanged."""
        one, other = sides
        return replace(self, columns={**self.columns, one: self.columns[other], other: self.columns[one]})

    def drawn(self, names: Sequence[str], index: Ints) -> dict[str, Any]:
        """Some columns on drawn items. Codes stay: every draw takes as many items of each stratum."""
        if self.cluster is not None:
            return {name: self.columns[name][index] for name in names}
        columns = {name: self.columns[name] for name in names}
        return {name: values if values.dtype.kind == "i" else values[index] for name, values in columns.items()}

    def rows(self, names: Sequence[str], index: Ints) -> dict[str, Any]:
        """Some columns on subsamples that all take the same number of each stratum: one row of codes serves all."""
        columns = {name: self.columns[name] for name in names}
        return {name: values[index[0]] if values.dtype.kind == "i" else values[index] for name, values in columns.items()}


def statistic(measure: Entry, columns: Mapping[str, Any], parts: Ints) -> Floats:
    """A measure over the last axis; for a weighted measure, the mean of the parts where it is defined."""
    if not measure.spec.weighted:
        return np.asarray(measure.function(**{name: columns[name] for name in measure.parameters}), dtype=np.float64)
    return weighted_mean(*statistic_of_parts(measure, columns, parts))


def statistic_of_parts(measure: Entry, columns: Mapping[str, Any], parts: Ints) -> tuple[Floats, Floats]:
    """A measure over the last axis for each part (parts first), and the parts' sizes."""
    values, sizes = [], []
    for at in places_of(parts):
        with np.errstate(invalid="ignore", divide="ignore"):
            values.append(measure.function(**{name: columns[name][..., at] for name in measure.parameters}))
        sizes.append(len(parts[at]))
    return np.array(values, dtype=np.float64), np.array(sizes, dtype=np.float64)


def weighted_mean(values: Floats, sizes: Floats) -> Floats:
    """The mean over the first axis, by size, of what is defined; not a number where nothing is."""
    share = sizes.reshape(-1, *([1] * (values.ndim - 1))) * ~np.isnan(values)
    total = share.sum(axis=0)
    whole = np.divide(np.nansum(values * share, axis=0), total, out=np.full(np.shape(total), np.nan), where=total > 0)
    return np.asarray(whole, dtype=np.float64)


def places_of(parts: Ints) -> list[slice | Ints]:
    """Where the items of each part stand, in the order of the parts: as a slice where they stand together."""
    slices: list[slice | Ints] = []
    for code in np.unique(parts):
        at = np.flatnonzero(parts == code)
        together = at[-1] - at[0] + 1 == len(at)
        slices.append(slice(int(at[0]), int(at[-1]) + 1) if together else at)
    return slices


def bootstrap_alike(measure: Entry, samples: Sequence[Sample], rng: np.random.Generator, resamples: int) -> list[Floats]:
    """The measure on resampled items, for samples of the same items by different models: all samples share each draw."""
    values: list[list[Floats]] = [[] for _ in samples]
    for index in samples[0].draws(rng, resamples) if samples[0].cluster is None else samples[0].repeated(rng, resamples):
        for of_sample, sample in zip(values, samples, strict=True):
            of_sample.append(statistic(measure, sample.drawn(measure.parameters, index), sample.parts))
    return [np.concatenate(of_sample) for of_sample in values]


def exchanged(measure: Entry, sample: Sample, sides: tuple[str, str], rng: np.random.Generator, repeats: int) -> Floats:
    """The measure after exchanging the two sides of random items: what a model that does not lean would give."""
    one, other = (sample.columns[name] for name in sides)
    values = []
    for flip in sample.flips(rng, repeats):
        swapped = {sides[0]: np.where(flip, other, one), sides[1]: np.where(flip, one, other)}
        values.append(statistic(measure, {**sample.columns, **swapped}, sample.parts))
    return np.concatenate(values)


def exchange_models(
    design: Design, models: Pair, value: Callable[[dict[str, Any]], Floats], n: int, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Differences of a value after exchanging two models in random clusters, and whether all ways were tried.

    Args:
        design: Which rows are exchanged together.
        models: The columns of each model; rows are their last axis.
        value: Makes a value of columns whose first axis are the exchanges.
        n: Number of exchanges, unless all can be tried.
        rng: Source of the exchanges.
    """
    ways, is_exact = design.flip(n, rng)
    found = []
    for flip in ways:
        here = flip[:, design.cluster]
        ours, theirs = (
            {
                name: np.where(here.reshape(len(here), *[1] * (own.ndim - 1), -1), other[name], own)
                for name, own in one.items()
            }
            for one, other in (models, models[::-1])
        )
        found.append(value(ours) - value(theirs))
    return np.concatenate(found), is_exact


def exchange_sums(
    design: Design, models: tuple[Floats, Floats], groups: Sequence[Ints], n: int, rng: np.random.Generator
) -> tuple[Floats, Floats, bool]:
    """Add up groups of rows after exchanging two models in random clusters: exchanges × groups × columns of either model.

    The last value says whether all ways were tried.
    """
    ways, is_exact = design.flip(n, rng)
    change, parts = models[1] - models[0], []
    for flip in ways:
        here = flip[:, design.cluster].astype(np.float64)
        parts.append(np.stack([here[:, at] @ change[at] for at in groups], axis=1))
    moved, (ours, theirs) = np.concatenate(parts), (np.stack([rows[at].sum(0) for at in groups]) for rows in models)
    return ours + moved, theirs - moved, is_exact


def permuted(measure: Entry, sample: Sample, rng: np.random.Generator, repeats: int) -> Floats:
    """Compute the measure with the last column that it reads fixed and all others permuted together against it."""
    *moved, fixed = measure.parameters
    orders, _ = Design.independent(len(sample)).permute(repeats, rng)
    values = []
    for index in orders:
        columns = {name: sample.columns[name][index] for name in moved} | {fixed: sample.columns[fixed]}
        values.append(statistic(measure, columns, sample.parts))
    return np.concatenate(values)
