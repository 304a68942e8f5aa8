"""Dependence between the rows of a sample, and the resampling that follows from it.

All resampling of data in the package happens here: one bootstrap, one permutation, one exchange of sides.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
EXACT_FLIPS = 12
"""Up to so many clusters all ways to exchange the sides are tried."""
EXACT_ORDERS = 7
"""Up to so many rows all orders are tried."""
CELLS_AT_ONCE = 2**15
"""Draws × clusters at a time: what fits into a processor's cache, and little memory however many rows there are."""
FEW_STRATA = 32
"""Strata up to which each is permuted by itself, which is faster than sorting random numbers."""


def generator(seed: int, *labels: str) -> np.random.Generator:
    """Make a separate random stream for each labelled purpose, so that no result depends on what was computed before."""
    return np.random.default_rng([seed, zlib.crc32("|".join(labels).encode())])


def portions(total: int, n: int, cells: int = CELLS_AT_ONCE) -> Iterator[int]:
    """Split a number of draws of n clusters into parts that are made at a time."""
    step = max(2, cells // max(1, n))
    for first in range(0, total, step):
        yield min(step, total - first)


@dataclass(frozen=True)
class Design:
    """Rows in clusters (template, article, sentence frame), which are resampled whole, within strata.

    Attributes:
        cluster: The code 0, 1, … of each row's cluster.
        stratum: The code of each row's stratum; a cluster lies in one stratum.
        group: The code of each row's group, where tests permute groups.
    """

    cluster: Ints
    stratum: Ints
    group: Ints | None = None

    @classmethod
    def of(cls, cluster: NDArray[np.object_], stratum: NDArray[np.object_]) -> Design:
        """Make a design from names; clusters of the same name in different strata are different clusters."""
        _, strata = np.unique(stratum.astype(str), return_inverse=True)
        _, names = np.unique(cluster.astype(str), return_inverse=True)
        both = strata.astype(np.int64) * (int(names.max(initial=0)) + 1) + names
        _, codes = np.unique(both, return_inverse=True)
        return cls(codes.astype(np.int64), strata.astype(np.int64))

    @classmethod
    def independent(cls, n: int, stratum: Ints | None = None) -> Design:
        """Make a design of n rows that are each a cluster."""
        return cls(np.arange(n, dtype=np.int64), np.zeros(n, dtype=np.int64) if stratum is None else stratum)

    @classmethod
    def clustered(cls, cluster: Ints, stratum: Ints | None = None) -> Design:
        """Make a design from codes of clusters.

        Where a cluster lies in several strata, or a stratum has one cluster, there is one stratum.
        """
        codes = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
        nothing = np.zeros(len(codes), dtype=np.int64)
        if stratum is None or not len(codes):
            return cls(codes, nothing)
        pieces = np.unique(np.stack([codes, stratum]), axis=1)
        is_nested = pieces.shape[1] == codes.max() + 1 and np.unique(pieces[1], return_counts=True)[1].min() > 1
        return cls(codes, stratum if is_nested else nothing)

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max(initial=-1)) + 1

    @cached_property
    def stratum_of_cluster(self) -> Ints:
        """The stratum that each cluster lies in."""
        strata = np.zeros(self.n_clusters, dtype=np.int64)
        strata[self.cluster] = self.stratum
        return strata

    @cached_property
    def is_independent(self) -> bool:
        """Return whether every row is a cluster of its own, in the order of the rows."""
        return bool(np.array_equal(self.cluster, np.arange(len(self.cluster))))

    def totals(self, columns: Mapping[str, Floats]) -> dict[str, Floats]:
        """Add up each column within clusters: the sufficient statistics of measures that are ratios of sums."""
        return {
            name: np.bincount(self.cluster, values, self.n_clusters).astype(np.float64) for name, values in columns.items()
        }

    def sums(self, rows: Floats) -> Floats:
        """Add up a matrix of rows within clusters."""
        if self.is_independent:
            return rows
        found = np.zeros((self.n_clusters, rows.shape[1]))
        np.add.at(found, self.cluster, rows)
        return found

    def bootstrap(self, n: int, rng: np.random.Generator, cells: int = CELLS_AT_ONCE) -> Iterator[Floats]:
        """Draw clusters with replacement within strata: n rows of how often each cluster is drawn, some at a time."""
        k = self.n_clusters
        rows = k * np.arange(max(portions(n, k, cells), default=0))
        for index in self._drawn(n, rng, rows, cells):
            yield np.bincount(index.ravel(), minlength=index.size).astype(np.float64).reshape(index.shape)

    def drawn_sums(self, rows: Floats, n: int, rng: np.random.Generator, cells: int = CELLS_AT_ONCE) -> Floats:
        """Add up rows of the clusters that are drawn: draws × columns."""
        return np.concatenate([weights @ rows for weights in self.bootstrap(n, rng, cells)])

    def weights(self, n: int, rng: np.random.Generator) -> Floats:
        """Make all rows of `bootstrap` at once."""
        return np.concatenate([np.empty((0, self.n_clusters)), *self.bootstrap(n, rng)])

    def indices(self, n: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Draw clusters as `bootstrap` does, as their numbers: for measures that are no functions of sums."""
        yield from self._drawn(n, rng, np.zeros(1, dtype=np.int64), CELLS_AT_ONCE)

    def _drawn(self, n: int, rng: np.random.Generator, rows: Ints, cells: int) -> Iterator[Ints]:
        """Draw numbers of clusters, each row counting from its number in `rows` on."""
        strata = self.stratum_of_cluster
        order = np.argsort(strata, kind="stable")
        sizes = np.bincount(strata, minlength=1)
        size, start = sizes[strata[order]].astype(np.float64), (np.cumsum(sizes) - sizes)[strata[order]]
        is_sorted = bool((order[1:] > order[:-1]).all())
        first = start + rows[:, None] if is_sorted else start[None]
        for count in portions(n, self.n_clusters, cells):
            at = rng.random((count, self.n_clusters))
            at *= size
            index = at.astype(np.int64)
            index += first[:count]
            yield index if is_sorted else order[index] + rows[:count, None]

    def flip(self, n: int, rng: np.random.Generator) -> tuple[Iterator[Bools], bool]:
        """Choose clusters whose two sides are exchanged, and say whether all ways to choose are there.

        Up to twelve clusters every way is listed, so that a test on them is exact; else n random ways.
        """
        k = self.n_clusters
        if k <= EXACT_FLIPS:
            every = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
            return iter([every.astype(bool)]), True
        return (rng.random((count, k)) < 0.5 for count in portions(n, k)), False

    def permute(self, n: int, rng: np.random.Generator) -> tuple[Iterator[Ints], bool]:
        """Put the clusters into random orders within strata, and say whether all orders are there.

        Up to seven clusters of one stratum every order is listed; else n random ones. Position i of an order says which
        cluster stands where cluster i stood.
        """
        k, strata = self.n_clusters, self.stratum_of_cluster
        if k <= EXACT_ORDERS and factorial(k) <= n and not strata.any():
            return iter([np.array(list(permutations(range(k))), dtype=np.int64).reshape(-1, k)]), True
        return self.orders(n, rng), False

    def orders(self, n: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Put the clusters into n random orders within strata, some at a time."""
        k, strata = self.n_clusters, self.stratum_of_cluster
        base = np.argsort(strata, kind="stable")
        ends = np.cumsum(np.bincount(strata, minlength=1))
        for count in portions(n, k, 2**20):
            order = np.empty((count, k), dtype=np.int64)
            if len(ends) > FEW_STRATA:
                order[:, base] = np.argsort(strata + rng.random((count, k)), axis=1)
            else:
                for places in np.split(base, ends[:-1]):
                    order[:, places] = rng.permuted(np.broadcast_to(places, (count, len(places))), axis=1)
            yield order

    def permute_groups(self, n: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Deal the groups of rows to clusters at random: n rows with the group of each row, some at a time.

        Rows are what each cluster has of each group (at most one row a group and cluster). Clusters with equally many
        rows exchange their groups, and each assigns them to its rows at random. So clusters of one group each are permuted
        among each other, and clusters that have all groups permute them within.
        """
        assert self.group is not None
        parts = np.bincount(self.cluster, minlength=self.n_clusters)
        order = np.argsort(self.cluster, kind="stable")
        classes = []
        for size in np.unique(parts[parts > 0]):
            rows = order[parts[self.cluster[order]] == size].reshape(-1, size)
            classes.append((rows, self.group[rows], Design.independent(len(rows))))
        for count in portions(n, len(self.cluster), 2**18):
            found = np.empty((count, len(self.cluster)), dtype=np.int64)
            for rows, groups, of_clusters in classes:
                others = np.concatenate(list(of_clusters.orders(count, rng)))
                dealt = groups[others]
                dealt = rng.permuted(dealt, axis=2) if rows.shape[1] > 1 else dealt
                found[:, rows.ravel()] = dealt.reshape(count, -1)
            yield found
