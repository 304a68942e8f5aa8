"""Two levels of chance: which texts were judged, and which seeds were trained. Both are drawn, and kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Bools, Design, Floats, Ints
from tiltmeter.stats.resampling import exchange_models


@dataclass(frozen=True)
class TwoLevels:
    """A measure on the texts themselves (one value for each seed), and on draws of texts: seeds × draws."""

    values: Floats
    texts: Floats

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    def both(self, rng: np.random.Generator) -> Floats:
        """Draw texts and seeds: for each draw of texts, the mean of as many seeds drawn again."""
        n_seeds, n_draws = self.texts.shape
        if n_seeds == 1:
            return np.asarray(self.texts[0], dtype=np.float64)
        weights = Design.independent(n_seeds).weights(n_draws, rng).T
        chosen = np.where(weights > 0, weights * self.texts, 0.0)
        return np.asarray(chosen.sum(axis=0) / n_seeds, dtype=np.float64)

    @property
    def seeds_share(self) -> float:
        """Which part of the variance is that of the seeds; missing with one seed."""
        if len(self.values) < 2:
            return float("nan")
        defined = self.texts.mean(axis=0)
        defined = defined[~np.isnan(defined)]
        of_seeds = float(self.values.var(ddof=1)) / len(self.values)
        of_texts = float(defined.var(ddof=1)) if len(defined) > 1 else float("nan")
        return of_seeds / (of_seeds + of_texts) if of_seeds + of_texts > 0 else 0.0


@dataclass(frozen=True)
class SeededRows:
    """Columns of rows, by one or several seeds, that a measure with weights reads.

    Attributes:
        measure: The measure.
        cluster: The cluster of each row; clusters are drawn whole.
        varying: Columns that differ between seeds: seeds × rows.
        fixed: Columns that are the same for all seeds; rows are their last axis.
    """

    measure: Entry
    cluster: Ints
    varying: Mapping[str, NDArray[Any]]
    fixed: Mapping[str, NDArray[Any]]

    @property
    def n_seeds(self) -> int:
        """Number of seeds."""
        return len(next(iter(self.varying.values())))

    def columns(self) -> Iterator[dict[str, Any]]:
        """Yield what the measure reads, by each seed."""
        for seed in range(self.n_seeds):
            known = dict(self.fixed) | {name: values[seed] for name, values in self.varying.items()}
            yield {name: values for name, values in known.items() if name in self.measure.parameters}

    def take(self, measure: Entry, side: Bools) -> SeededRows:
        """Select some rows, to be read by another measure."""
        varying, fixed = (
            {name: values[..., side] for name, values in columns.items()} for columns in (self.varying, self.fixed)
        )
        return SeededRows(measure, self.cluster[side], varying, fixed)

    def drawn(self, counts: Sequence[Floats], n: int) -> TwoLevels:
        """Compute the measure, and the first n draws of it, by the counts of each cluster in each draw."""
        values, texts, step = [], [], len(counts[0])
        parts = [part[: n - step * at] for at, part in enumerate(counts) if step * at < n]
        for columns in self.columns():
            values.append(float(self.measure.function(**columns)))
            merged, codes, times = _merged(columns, self.cluster)
            draws = [np.atleast_1d(self.measure.function(**merged, weight=part[:, codes] * times)) for part in parts]
            texts.append(np.concatenate(draws))
        return TwoLevels(np.array(values), np.stack(texts))

    def permuted(self, function: Callable[..., Floats], stratum: Ints, n: int, rng: np.random.Generator) -> Floats:
        """Compute a function after permuting what varies among the rows of a stratum.

        Every seed is permuted alike and measured on its own, as it is on the rows themselves.
        """
        found = []
        for order in Design.independent(len(stratum), np.unique(stratum, return_inverse=True)[1]).permute(n, rng)[0]:
            moved = [{name: columns[name][order] for name in self.varying} for columns in self.columns()]
            found.append(np.mean([np.atleast_1d(function(**dict(self.fixed) | seed)) for seed in moved], axis=0))
        return np.concatenate(found)

    def exchanged(self, other: SeededRows, n: int, rng: np.random.Generator) -> tuple[Floats, bool]:
        """Compute differences after exchanging two models in random clusters, and say whether all ways were tried."""

        def mean_over_seeds(columns: dict[str, Any]) -> Floats:
            seeds = zip(*(np.moveaxis(values, 1, 0) for values in columns.values()), strict=True)
            found = [self.measure.function(**dict(self.fixed), **dict(zip(columns, seed, strict=True))) for seed in seeds]
            return np.asarray(np.mean(found, axis=0), dtype=np.float64)

        return exchange_models(Design.clustered(self.cluster), (self.varying, other.varying), mean_over_seeds, n, rng)

    def needed(self, sides: Sequence[Bools]) -> list[Bools]:
        """Return those of some sets of rows without which the measure is undefined."""
        without = np.stack([~side for side in sides]).astype(np.float64)
        values = self.measure.function(**next(self.columns()), weight=without)
        return [side for side, value in zip(sides, values, strict=True) if np.isnan(value)]


def _merged(columns: dict[str, Any], cluster: Ints) -> tuple[dict[str, Any], Ints, Floats]:
    """Rows of one cluster that are alike in everything that is read are one, with a weight: the sums are the same."""
    if np.bincount(cluster).max(initial=0) < 2 or any((values % 1).any() for values in columns.values()):
        return columns, cluster, np.ones(len(cluster))
    key = np.vstack([cluster[None], *(np.atleast_2d(values).astype(np.int64) for values in columns.values())])
    _, first, times = np.unique(key, axis=1, return_index=True, return_counts=True)
    return {name: values[..., first] for name, values in columns.items()}, cluster[first], times.astype(np.float64)
