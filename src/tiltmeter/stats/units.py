"""Units that an interval rests on: how many independent units, and how far percentiles of their draws are too narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiltmeter.display import number_text
from tiltmeter.stats.estimates import Details
from tiltmeter.stats.intervals import independent_texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PROMPTS, ITEMS = "prompts", "items"
FEW = 10
"""Clusters of one size below which a note says how few there are."""
HALF_EVENT = 0.5
"""Events that are added to those seen, as by the prior of Jeffreys."""


@dataclass(frozen=True)
class Units:
    """So many rows in so many clusters, which count as `effective` ones of equal size.

    Draws have 1 − 1/m of the variance, where m is that number, or, where clusters are drawn within groups, `within`.
    `degrees`: degrees of freedom of the variance, n − 1 unless it has two levels.
    """

    prompts: int
    n: int
    effective: float
    called: str = PROMPTS
    within: float | None = None
    degrees: float | None = None

    @classmethod
    def independent(cls, n: int, called: str = ITEMS) -> Units:
        """Make n rows that are each a cluster."""
        return cls(n, n, float(n), called)

    @property
    def m(self) -> float:
        """Effective number of units by which draws vary too little: by a factor of (m − 1) / m."""
        return self.effective if self.within is None else self.within

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance of draws."""
        return self.n - 1 if self.degrees is None else self.degrees

    @property
    def of_shares(self) -> tuple[float, float]:
        """Degrees of freedom, and the number by which draws vary too little, for intervals of shares.

        Unlike clusters count as their effective number, with the jackknife's variance instead of the bootstrap's: a rare
        event in few large clusters varies more than its draws show.

        >>> Units.independent(30).of_shares, [round(n, 2) for n in Units(150, 30, 17.0).of_shares]
        ((29, 30.0), [16.0, 8.76])
        """
        if self.effective >= self.n:
            return self.df, self.m
        m = max(self.m, 1 + 1e-9)
        return min(self.df, self.effective - 1), 1 / (1 - (1 - 1 / m) ** 2)

    def texts(self, share: float, error: float) -> float:
        """Count the independent texts whose share would vary as much as this one, whose draws have this error.

        Few events may look independent because no cluster happened to have several. So half an event is added whose whole
        cluster shares it: without any other, a cluster counts as one text.

        >>> [round(Units.independent(10).texts(share, 0.01), 1) for share in (0.01, 0.1, 0.5)]
        [23.2, 543.3, 2046.4]
        """
        found, rare = independent_texts(share, error, self.of_shares[1]), min(share, 1 - share)
        if found <= self.effective:
            return found
        return self.effective * (found * rare + HALF_EVENT) / (self.effective * rare + HALF_EVENT)

    def widening(self, confidence: float) -> float:
        """Compute the factor by which percentile intervals are too narrow (Hesterberg, 2015).

        √(m/(m−1)) removes the bias of a variance of m clusters; Student's quantile replaces the normal one.

        >>> round(Units.independent(5).widening(0.95), 3), round(Units.independent(1000).widening(0.95), 3)
        (1.584, 1.002)
        """
        from scipy.special import ndtri, stdtrit

        tail = 0.5 + confidence / 2
        return float(np.sqrt(self.m / max(self.m - 1, 1e-9)) * stdtrit(self.df, tail) / ndtri(tail))

    def in_strata(self, n_strata: int) -> Units:
        """Draw within strata: the draws of each vary too little by 1 / its size, and each takes a degree of freedom.

        >>> Units.independent(30).in_strata(6).m, Units.independent(30).in_strata(6).df
        (5.0, 24)
        """
        return self if n_strata < 2 else replace(self, within=self.n / n_strata, degrees=max(1, self.n - n_strata))

    def with_seeds(self, n_seeds: int, share: float) -> Units:
        """Count seeds as a second level, to which this share of the variance is due.

        Draws of few seeds vary too little by their own 1/n, and the degrees of freedom are Satterthwaite's.

        >>> round(Units.independent(101).with_seeds(3, 1.0).df, 6), Units.independent(101).with_seeds(1, float("nan")).df
        (2.0, 100)
        """
        if n_seeds < 2 or np.isnan(share):
            return self
        degrees = 1 / (share**2 / (n_seeds - 1) + (1 - share) ** 2 / max(1.0, self.n - 1.0))
        factor = self.m / max(self.m - 1, 1e-9) / (1 - share / n_seeds)
        return replace(self, within=factor / (factor - 1), degrees=degrees)

    @property
    def text(self) -> str:
        """For notes.

        >>> Units(59, 9, 2.31, "articles").text, Units(1, 1, 1.0).text
        ('59 prompts from 9 articles (as 2.3 of one size)', '1 prompt')
        """
        prompts = f"{self.prompts:,} prompt{'' if self.prompts == 1 else 's'}"
        if self.called == PROMPTS:
            return prompts
        unequal = f" (as {number_text(self.effective)} of one size)" if 1 < self.effective < min(FEW, self.n - 0.05) else ""
        return f"{prompts} from {self.n:,} {self.called if self.n != 1 else self.called.removesuffix('s')}{unequal}"

    @property
    def details(self) -> Details:
        """Count prompts and, where they are drawn in clusters, how many of these.

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

    @property
    def few(self) -> str:
        """Why a group has no test: how few clusters its prompts are from.

        >>> Units(9, 4, 3.6, "articles").few, Units(9, 1, 1.0, "articles").few
        ('all prompts from 4 articles', 'all prompts from one article')
        """
        return self.lone if self.n < 2 else f"all prompts from {self.n} {self.called}"

    def least(self, other: Units) -> Units:
        """Return the units of the weaker of two sides."""
        return replace(self, n=min(self.n, other.n), effective=min(self.effective, other.effective))


def units_of(judged: Floats, codes: Ints | None, called: str) -> Units:
    """Count rows with so many texts each. Clusters of unequal size count as (Σ size)² / Σ size² (Kish, 1965)."""
    there = judged > 0
    prompts = int(there.sum())
    if codes is None:
        return Units(prompts, prompts, float(prompts))
    sizes = np.bincount(codes[there], judged[there])
    sizes = sizes[sizes > 0]
    effective = float(sizes.sum() ** 2 / np.square(sizes).sum()) if len(sizes) else 0.0
    return Units(prompts, len(sizes), effective, called)


def within_groups(whole: Units, groups: Sequence[Units], texts: Sequence[float]) -> Units:
    """Units of the whole if clusters are drawn within groups: each group's draws vary too little by its own 1/m.

    >>> halves = [Units(40, 10, 4.0, "articles"), Units(40, 20, 12.0, "articles")]
    >>> within_groups(Units(80, 30, 9.0, "articles"), halves, [40, 40]).m
    6.0
    """
    if whole.called == PROMPTS or not whole.n:
        return whole
    sizes = [one.effective if one.n > 1 else max(1, one.prompts) for one in groups]
    return replace(whole, within=float(sum(texts) / sum(n / size for n, size in zip(texts, sizes, strict=True))))
