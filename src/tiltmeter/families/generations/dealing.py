"""Which groups prompts, or whole clusters of prompts, could have been about just as well: the null of gaps and variances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tiltmeter.families.generations.clusters import by_cluster
from tiltmeter.families.generations.draws import Floats, Ints, portions
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings


@dataclass(frozen=True)
class Pieces:
    """What each cluster has of each group: a row of sums, its cluster and the number of its group."""

    sums: Floats
    cluster: Ints
    group: Ints
    n_groups: int

    def summed(self) -> Floats:
        """Groups × columns, as they are."""
        found = np.zeros((self.n_groups, self.sums.shape[1]))
        np.add.at(found, self.group, self.sums)
        return found


def pieces_of(judged: Judged, groups: Mapping[str, Ints]) -> Pieces:
    """Of prompts with a judged text, where prompts have clusters."""
    assert judged.clusters is not None
    rows = np.concatenate(list(groups.values()))
    group = np.repeat(np.arange(len(groups)), [len(at) for at in groups.values()])
    there = judged.sums[rows, 0] > 0
    key = (judged.clusters.codes[rows] * len(groups) + group)[there]
    cluster, group = np.divmod(np.unique(key), len(groups))
    return Pieces(by_cluster(judged.sums[rows[there]], key), cluster, group, len(groups))


def dealt_pieces(pieces: Pieces, settings: Settings, *labels: str) -> Floats:
    """Draws × groups × columns: sums of the groups when whole clusters are dealt at random.

    A cluster with prompts of several groups has a piece for each. Clusters with equally many pieces exchange their groups,
    and each deals its pieces to them at random. So clusters of one group each are dealt as prompts are, and the pieces of
    clusters that are about all groups are exchanged within each.
    """
    n_pieces = np.bincount(pieces.cluster)[pieces.cluster]
    found = np.zeros((settings.resamples, pieces.n_groups, pieces.sums.shape[1]))
    for n in np.unique(n_pieces):
        ours = n_pieces == n
        sums, group = pieces.sums[ours], pieces.group[ours]
        if n == 1:
            order = np.argsort(group, kind="stable")
            there, counts = np.unique(group, return_counts=True)
            found[:, there] += dealt(sums[order], counts, settings, *labels)
        else:
            found += _exchanged(sums, group.reshape(-1, n), pieces.n_groups, settings, *labels)
    return found


def dealt_groups(judged: Judged, groups: Mapping[str, Ints], settings: Settings, *labels: str) -> Floats:
    """The same for prompts that are all independent."""
    rows, sizes = np.concatenate(list(groups.values())), np.array([len(at) for at in groups.values()])
    return dealt(judged.sums[rows], sizes, settings, judged.benchmark, *labels)


def dealt(sums: Floats, sizes: Ints, settings: Settings, *labels: str) -> Floats:
    """Draws × groups × columns: sums of groups of these sizes when rows are dealt to them at random."""
    rng = generator(settings.seed, "dealing", *labels)
    starts = np.cumsum(sizes) - sizes
    order = np.arange(len(sums))
    found = np.empty((settings.resamples, len(sizes), sums.shape[1]))
    for draw in range(settings.resamples):
        rng.shuffle(order)
        found[draw] = np.add.reduceat(sums[order], starts)
    return found


def _exchanged(sums: Floats, groups: Ints, n_groups: int, settings: Settings, *labels: str) -> Floats:
    """Sums of groups for clusters of several pieces each: `groups` has a row for each cluster, `sums` one for each piece."""
    rng = generator(settings.seed, "dealing", *labels, f"{groups.shape[1]} parts")
    n, parts = groups.shape
    found = []
    for count in portions(settings.resamples, sums.size):
        part = rng.permuted(np.broadcast_to(np.arange(n * parts).reshape(n, parts), (count, n, parts)), axis=2)
        order = rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)
        place = (groups[order] + n_groups * np.arange(count)[:, None, None]).ravel()
        columns = [np.bincount(place, values, count * n_groups) for values in sums[part.ravel()].T]
        found.append(np.stack(columns, axis=1).reshape(count, n_groups, -1))
    return np.concatenate(found)


def exchanged(first: Floats, second: Floats, settings: Settings, *labels: str) -> tuple[Floats, Floats]:
    """Draws × columns of two sides, after exchanging them in random sets, or clusters of sets."""
    rng = generator(settings.seed, "exchanging", *labels)
    flip = (rng.random((settings.resamples, len(first))) < 0.5).astype(np.float64)
    moved = flip @ (second - first)
    return first.sum(0) + moved, second.sum(0) - moved
