"""Which groups prompts, or whole clusters of prompts, could have been about just as well: the null of gaps and variances."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiltmeter.families.generations.clusters import by_cluster
from tiltmeter.families.generations.draws import Floats, Ints, portions
from tiltmeter.families.generations.judged import Judged
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings


def dealt_groups(judged: Judged, groups: Mapping[str, Ints], settings: Settings, *labels: str) -> Floats:
    """Draws × groups × columns: sums of the groups when prompts, or whole clusters of them, are dealt at random.

    A cluster with prompts of several groups has a part for each. Clusters with equally many parts exchange their groups, and
    each deals its parts to them at random. So clusters of one group each are dealt as prompts are, the parts of clusters
    that are about all groups are exchanged within each, and the test is exact for whatever lies between.
    """
    rows = np.concatenate(list(groups.values()))
    sizes = np.array([len(at) for at in groups.values()])
    if judged.clusters is None:
        return dealt(judged.sums[rows], sizes, settings, judged.benchmark, *labels)
    group = np.repeat(np.arange(len(groups)), sizes)
    key = judged.clusters.codes[rows] * len(groups) + group
    sums, parts = by_cluster(judged.sums[rows], key), np.unique(key)
    cluster, group = np.divmod(parts, len(groups))
    n_parts = np.bincount(cluster)[cluster]
    found = np.zeros((settings.resamples, len(groups), sums.shape[1]))
    for n in np.unique(n_parts):
        ours = n_parts == n
        if n == 1:
            order = np.argsort(group[ours], kind="stable")
            there, counts = np.unique(group[ours], return_counts=True)
            found[:, there] += dealt(sums[ours][order], counts, settings, judged.benchmark, *labels)
        else:
            found += _exchanged(sums[ours], group[ours].reshape(-1, n), len(groups), settings, judged.benchmark, *labels)
    return found


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
    """The same for clusters of several parts each: `groups` has a row for each cluster, `sums` one for each part."""
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
