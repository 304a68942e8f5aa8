"""Tests of groups whose prompts come in clusters: clusters are dealt, and what lies apart is counted in standard errors.

Dealing alone is exact only where the clusters of all groups are of like size: else a group with few or small clusters has
in the deals another variance than it really has. Divided by its own standard error in every deal, a difference is compared
with its like (Janssen, 1997; Chung and Romano, 2013). Groups with fewer than two clusters have no error that anybody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter.families.generations.dealing import dealt_pieces, pieces_of
from tiltmeter.families.generations.draws import COLUMN, Floats, Ints
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p

SMALLEST = 1e-12
"""Scores that vary less do so by rounding."""


def lone_groups(judged: Judged, groups: Mapping[str, Ints]) -> list[str]:
    """Those with fewer than two clusters, where prompts have clusters."""
    return [name for name, rows in groups.items() if judged.clusters and judged.units(rows).n < 2]


def left_out(judged: Judged, groups: Mapping[str, Ints]) -> str:
    """For notes: whom a test is without."""
    lone = lone_groups(judged, groups)
    return f"p leaves out {', '.join(lone)}: {judged.units(groups[lone[0]]).lone}" if lone else ""


@dataclass(frozen=True)
class GroupTest:
    """Means of groups and their squared standard errors, as they are (`here`) and in every deal (`dealt`: deals × groups).

    `names` are the groups with two clusters or more, and none if there are not two of these.
    """

    names: tuple[str, ...]
    here: tuple[Floats, Floats]
    dealt: tuple[Floats, Floats]

    def gap(self, one: str, other: str) -> float:
        """p of the difference of two groups."""
        return self._contrast({one: 1.0, other: -1.0})

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


def group_test(judged: Judged, groups: Mapping[str, Ints], top: str, settings: Settings, *labels: str) -> GroupTest:
    """Of groups whose prompts have clusters. `top` is what is summed: scores, or negative texts."""
    lone = lone_groups(judged, groups)
    tested = {name: rows for name, rows in groups.items() if name not in lone}
    if len(tested) < 2:
        nothing = np.empty(0), np.empty(0)
        return GroupTest((), nothing, nothing)
    pieces = pieces_of(judged, tested)
    pieces = replace(pieces, sums=_moments(pieces.sums, COLUMN[top]))
    dealt = dealt_pieces(pieces, settings, judged.benchmark, *labels)
    return GroupTest(tuple(tested), means_and_errors(pieces.summed()), means_and_errors(dealt))


def _moments(sums: Floats, top: int) -> Floats:
    """What means and their errors need of each piece: its texts n, its sum s, s², s·n and n²."""
    n, s = sums[:, COLUMN["judged"]], sums[:, top]
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
    """How far groups, the last axis, lie apart."""
    centre = (mean / error).sum(-1, keepdims=True) / (1 / error).sum(-1, keepdims=True)
    return np.asarray(((mean - centre) ** 2 / error).sum(-1))
