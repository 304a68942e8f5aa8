"""How the rows of a sample depend on each other, and the resampling that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EXACT_FLIPS = 12
"""Up to so many clusters all ways to exchange the sides are tried."""


@dataclass(frozen=True)
class Design:
    """Rows in clusters (template, article, sentence frame), which are resampled whole, within strata.

    `cluster` and `stratum` are codes 0, 1, … with one entry a row; a cluster lies in one stratum.
    """

    cluster: Ints
    stratum: Ints

    @classmethod
    def of(cls, cluster: NDArray[np.object_], stratum: NDArray[np.object_]) -> Design:
        """Make a design from names; clusters of the same name in different strata are different clusters."""
        _, strata = np.unique(stratum.astype(str), return_inverse=True)
        _, names = np.unique(cluster.astype(str), return_inverse=True)
        both = strata.astype(np.int64) * (int(names.max(initial=0)) + 1) + names
        _, codes = np.unique(both, return_inverse=True)
        return cls(codes.astype(np.int64), strata.astype(np.int64))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max(initial=-1)) + 1

    @cached_property
    def stratum_of_cluster(self) -> Ints:
        """The stratum that each cluster lies in."""
        strata = np.zeros(self.n_clusters, dtype=np.int64)
        strata[self.cluster] = self.stratum
        return strata

    def totals(self, columns: Mapping[str, Floats]) -> dict[str, Floats]:
        """Add up each column within clusters: the sufficient statistics of measures that are ratios of sums."""
        return {
            name: np.bincount(self.cluster, values, self.n_clusters).astype(np.float64) for name, values in columns.items()
        }

    def bootstrap(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw clusters with replacement within strata: n rows of how often each cluster is drawn."""
        weights = np.zeros((n, self.n_clusters))
        for stratum in np.unique(self.stratum_of_cluster):
            (places,) = np.nonzero(self.stratum_of_cluster == stratum)
            weights[:, places] = rng.multinomial(len(places), np.full(len(places), 1 / len(places)), size=n)
        return weights

    def flip(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], bool]:
        """Choose clusters whose two sides are exchanged, and say whether all ways to choose are there.

        Up to twelve clusters every way is listed, so that a test on them is exact; else n random ways.
        """
        k = self.n_clusters
        if k <= EXACT_FLIPS:
            every = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
            return every.astype(bool), True
        return rng.random((n, k)) < 0.5, False


def widening(n_clusters: int, confidence: float, effective: float | None = None) -> float:
    """Factor by which percentile intervals of few clusters are too narrow (Hesterberg, 2015).

    √(m/(m−1)) removes the bias of a variance of m clusters; Student's quantile is that of the number of clusters.

    Args:
        n_clusters: Number of clusters.
        confidence: Level of the interval.
        effective: Number of clusters of equal size that vary as much, m. Default: `n_clusters`.

    >>> round(widening(5, 0.95), 3), round(widening(1000, 0.95), 3)
    (1.584, 1.002)
    """
    from scipy.special import ndtri, stdtrit

    tail = 0.5 + confidence / 2
    m = n_clusters if effective is None else effective
    return float(np.sqrt(m / (m - 1)) * stdtrit(n_clusters - 1, tail) / ndtri(tail))
