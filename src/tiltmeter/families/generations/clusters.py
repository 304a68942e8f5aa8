"""Prompts that are no independent evidence, such as those of one Wikipedia article: they are drawn and dealt together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.estimates import Details

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PROMPTS = "prompts"
FEW = 10
"""Clusters of one size below which a note says how few there are."""


@dataclass(frozen=True)
class Clusters:
    """`codes`: the cluster of each prompt. `called`: what people call them, in the plural. `shared`: whether prompts of
    several groups are in it; it has an entry per cluster.
    """

    codes: Ints
    called: str
    shared: NDArray[np.bool_]

    def take(self, rows: Ints) -> Clusters:
        """Those of some prompts. What was shared remains so: groups that are left out do not change how others are drawn."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True)
class Units:
    """What an interval rests on: so many prompts in so many clusters, which count as `effective` ones of equal size.

    Draws have 1 − 1/m of the variance, where m is that number, or, where clusters are drawn within groups, `within`.
    """

    prompts: int
    n: int
    effective: float
    called: str = PROMPTS
    within: float | None = None

    @property
    def m(self) -> float:
        """What says how much too little draws vary."""
        return self.effective if self.within is None else self.within

    @property
    def text(self) -> str:
        """For notes.

        >>> Units(59, 9, 2.31, "articles").text, Units(1, 1, 1.0).text
        ('59 prompts from 9 articles (as 2.3 of one size)', '1 prompt')
        """
        prompts = f"{self.prompts:,} prompt{'' if self.prompts == 1 else 's'}"
        if self.called == PROMPTS:
            return prompts
        unequal = f" (as {self.effective:.1f} of one size)" if 1 < self.effective < min(FEW, self.n - 0.05) else ""
        return f"{prompts} from {self.n:,} {self.called if self.n != 1 else self.called.removesuffix('s')}{unequal}"

    @property
    def details(self) -> Details:
        """How many prompts and, where they are drawn in clusters, how many of these.

        >>> Units(59, 9, 2.31, "articles").details
        {'n_prompts': 59, 'n_clusters': 9, 'effective_clusters': 2.31, 'cluster': 'articles'}
        """
        if self.called == PROMPTS:
            return {"n_prompts": self.prompts}
        size = {"n_prompts": self.prompts, "n_clusters": self.n, "effective_clusters": self.effective}
        return size | {"cluster": self.called}

    @property
    def too_few(self) -> str:
        """Why there is no interval, if there is none: nothing can be drawn otherwise than it is.

        >>> Units(1, 1, 1.0).too_few, Units(3, 2, 1.8, "articles", within=1.0).too_few, Units(3, 3, 3.0).too_few
        ('one prompt', 'one prompt in each group', '')
        """
        return self.lone if self.n < 2 else "one prompt in each group" if self.m <= 1 else ""

    @property
    def lone(self) -> str:
        """Why one of them has no interval."""
        return "one prompt" if self.called == PROMPTS else f"all prompts from one {self.called.removesuffix('s')}"

    def least(self, other: Units) -> Units:
        """Of two sides, what the weaker one has."""
        return replace(self, n=min(self.n, other.n), effective=min(self.effective, other.effective))


def units_of(judged: Floats, codes: Ints | None, called: str) -> Units:
    """Of prompts with so many judged texts each. Clusters of unequal size count as (Σ size)² / Σ size² (Kish, 1965)."""
    there = judged > 0
    prompts = int(there.sum())
    if codes is None:
        return Units(prompts, prompts, float(prompts))
    sizes = np.bincount(codes[there], judged[there])
    sizes = sizes[sizes > 0]
    effective = float(sizes.sum() ** 2 / np.square(sizes).sum()) if len(sizes) else 0.0
    return Units(prompts, len(sizes), effective, called)


def within_groups(whole: Units, groups: Sequence[Units], texts: Sequence[float]) -> Units:
    """What the whole rests on if clusters are drawn within groups: each group's draws vary too little by its own 1/m.

    >>> halves = [Units(40, 10, 4.0, "articles"), Units(40, 20, 12.0, "articles")]
    >>> within_groups(Units(80, 30, 9.0, "articles"), halves, [40, 40]).m
    6.0
    """
    if whole.called == PROMPTS or not whole.n:
        return whole
    sizes = [one.effective if one.n > 1 else max(1, one.prompts) for one in groups]
    return replace(whole, within=float(sum(texts) / sum(n / size for n, size in zip(texts, sizes, strict=True))))


def group_prompts(prompts: pd.DataFrame, clusters: Sequence[object], noun: str) -> Clusters | None:
    """Groups prompts by the cluster of each; None where all are alone.

    A prompt without one is alone. Prompts of one minimal set belong together, so clusters that share a set are one.
    """
    if all(cluster is None for cluster in clusters):
        return None
    names = [
        f"alone|{item}" if cluster is None else f"in|{cluster}"
        for cluster, item in zip(clusters, prompts["item"], strict=True)
    ]
    codes = _with_sets(np.unique(names, return_inverse=True)[1].astype(np.int64), prompts["set"])
    if len(np.unique(codes)) == len(codes):
        return None
    group = prompts.groupby(["bias_type", "group"], sort=False).ngroup().to_numpy()
    pieces = np.unique(np.stack([codes, group]), axis=1)
    shared = np.bincount(pieces[0], minlength=codes.max() + 1) > 1
    return Clusters(codes, noun, shared if shared.sum() > 1 else np.zeros_like(shared))


def _with_sets(codes: Ints, sets: pd.Series) -> Ints:
    """One code for clusters that have prompts of the same set."""
    there = sets.notna().to_numpy()
    if not there.any():
        return codes
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = int(codes.max()) + 1
    number = np.unique(sets[there].astype(str), return_inverse=True)[1] + n
    size = int(number.max()) + 1
    edges = coo_matrix((np.ones(len(number)), (codes[there], number)), shape=(size, size))
    return np.asarray(connected_components(edges, directed=False)[1][codes], dtype=np.int64)


def by_cluster(sums: Floats, codes: Ints | None) -> Floats:
    """A row of sums for each cluster, in the order of the codes; the prompts themselves where there are none."""
    if codes is None:
        return sums
    place = np.unique(codes, return_inverse=True)[1]
    found = np.zeros((int(place.max(initial=-1)) + 1, sums.shape[1]))
    np.add.at(found, place, sums)
    return found
