"""Tests of groups whose rows come in clusters: clusters are permuted, and differences are in standard errors.

Permuting alone is exact only where the clusters of all groups are of like size: else a group with few or small clusters has
in the permutations another variance than it really has. Divided by its own standard error in every permutation, a difference
is compared with its like (Janssen, 1997; Chung and Romano, 2013). A group with fewer than two clusters has no known error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter.stats.design import Design, Floats, Ints
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.spread import sums_of_groups

SMALLEST = 1e-12
"""Scores that vary less do so by rounding."""


@dataclass(frozen=True)
class Pieces:
    """Sums of each cluster and group: a row of sums, its cluster and the number of its group."""

    sums: Floats
    cluster: Ints
    group: Ints
    n_groups: int

    @classmethod
    def of(cls, rows: Floats, cluster: Ints, group: Ints, n_groups: int) -> Pieces:
        """Add up rows that have the same cluster and group."""
        keys, place = np.unique(cluster * n_groups + group, return_inverse=True)
        return cls(Design.clustered(place.astype(np.int64)).sums(rows), *np.divmod(keys, n_groups), n_groups)

    @property
    def n_clusters(self) -> Ints:
        """Number of clusters of each group."""
        return np.bincount(self.group, minlength=self.n_groups)

    def of_groups(self, groups: Sequence[int]) -> Pieces:
        """Select groups, numbered in their order."""
        place = np.full(self.n_groups, -1)
        place[list(groups)] = np.arange(len(groups))
        kept = place[self.group] >= 0
        return Pieces(self.sums[kept], self.cluster[kept], place[self.group[kept]], len(groups))

    def drawn(self, design: Design, n: int, rng: np.random.Generator) -> Floats:
        """Draws × groups × columns: sums of the groups when whole clusters are resampled within their strata."""
        table = np.zeros((design.n_clusters, self.n_groups, self.sums.shape[1]))
        table[self.cluster, self.group] = self.sums
        of_clusters = Design(np.arange(design.n_clusters), design.stratum_of_cluster)
        return of_clusters.drawn_sums(table.reshape(len(table), -1), n, rng).reshape(n, *table.shape[1:])

    def summed(self) -> Floats:
        """Groups × columns, as they are."""
        return np.asarray(sums_of_groups(self.sums, self.group[None], self.n_groups)[0], dtype=np.float64)

    def permuted(self, n: int, rng: np.random.Generator) -> Floats:
        """Permutations × groups × columns: sums of the groups when whole clusters are permuted across groups."""
        codes = np.unique(self.cluster, return_inverse=True)[1].astype(np.int64)
        design = Design(codes, np.zeros_like(codes), self.group)
        return np.concatenate([sums_of_groups(self.sums, dealt, self.n_groups) for dealt in design.permute_groups(n, rng)])


@dataclass(frozen=True)
class GroupTest:
    """Means of groups and their squared standard errors, as they are (`here`) and permuted (permutations × groups).

    `names` are the groups with two clusters or more, and none if there are not two of these.
    """

    names: tuple[str, ...]
    here: tuple[Floats, Floats]
    dealt: tuple[Floats, Floats]

    def gap(self, first: str, second: str) -> float:
        """p of the difference of two groups."""
        return self._contrast({first: 1.0, second: -1.0})

    def to_mean(self, name: str) -> float:
        """p of the difference of a group to the mean of all that are tested."""
        weights = {each: -1 / len(self.names) for each in self.names}
        return self._contrast(weights | {name: 1 + weights.get(name, 0.0)})

    def spread(self) -> float:
        """p of all differences together: Σ (mean − centre)² / error², with a centre weighed by 1 / error² (Welch, 1951)."""
        if not self.names:
            return np.nan
        here, dealt = (_distance(*each) for each in (self.here, self.dealt))
        return permutation_p(float(here), dealt, 0.0)

    def _contrast(self, weights: Mapping[str, float]) -> float:
        """p of a weighted sum of means; nan where a group is not tested."""
        if not set(weights) <= set(self.names):
            return np.nan
        weight = np.array([weights.get(name, 0.0) for name in self.names])
        here, dealt = (mean @ weight / np.sqrt(error @ weight**2) for mean, error in (self.here, self.dealt))
        return permutation_p(float(here), dealt, 0.0)


def group_test(names: Sequence[str], pieces: Pieces, n: int, rng: np.random.Generator, fewest: int = 2) -> GroupTest:
    """Test groups by permutation.

    Args:
        names: Names of the groups.
        pieces: Numbers of texts, and what is averaged over these.
        n: Number of permutations.
        rng: Source of the permutations.
        fewest: Clusters without which a group is left out.
    """
    tested = np.flatnonzero(pieces.n_clusters >= fewest).tolist()
    if len(tested) < 2:
        nothing = np.empty(0), np.empty(0)
        return GroupTest((), nothing, nothing)
    kept = pieces.of_groups(tested)
    pieces = replace(kept, sums=_moments(kept.sums))
    return GroupTest(
        tuple(names[at] for at in tested), means_and_errors(pieces.summed()), means_and_errors(pieces.permuted(n, rng))
    )


def _moments(sums: Floats) -> Floats:
    """Sums of each piece for means and their errors: its texts n, its sum s, s², s·n and n²."""
    n, s = sums.T
    return np.stack([n, s, s * s, s * n, n * n], axis=1)


def means_and_errors(moments: Floats) -> tuple[Floats, Floats]:
    """Means of groups and their squared standard errors; the last two axes are the groups and their moments.

    The error is that of a ratio over clusters, Σ (s − mean·n)² / N² · m/(m−1) with m = N²/Σn² (Kish, 1965). With few
    clusters it may be small by chance, and 0 where no text of a group is negative. So it is weighed as of m−1 clusters,
    against two more that vary as those of all groups together: one as if variances grew with n, one with n².
    """
    n, _, _, _, sizes = np.moveaxis(moments, -1, 0)
    all_n, _, _, _, all_sizes = np.moveaxis(moments.sum(-2, keepdims=True), -1, 0)
    mean, scatter = _scatter(moments)
    typical = np.maximum(_scatter(moments.sum(-2, keepdims=True))[1], SMALLEST * all_n)
    m = n * n / sizes
    error = (m * scatter + typical * n / all_n + typical * sizes / all_sizes) / (n * n * (m + 1))
    return mean, error


def _scatter(moments: Floats) -> tuple[Floats, Floats]:
    """Mean, and Σ (s − mean·n)²."""
    n, s, squares, products, sizes = np.moveaxis(moments, -1, 0)
    mean = s / n
    return mean, np.maximum(squares - 2 * mean * products + mean * mean * sizes, 0.0)


def _distance(mean: Floats, error: Floats) -> Floats:
    """Return how far groups, the last axis, lie apart."""
    centre = (mean / error).sum(-1, keepdims=True) / (1 / error).sum(-1, keepdims=True)
    return np.asarray(((mean - centre) ** 2 / error).sum(-1))
