"""Prompts that are no independent evidence (of one article, or one minimal set): they are drawn and permuted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.stats.design import Ints
from tiltmeter.stats.groups import Clusters

if TYPE_CHECKING:
    import pandas as pd

SETS = "sets"
"""Name of clusters that are minimal sets."""


def group_prompts(prompts: pd.DataFrame, clusters: Sequence[object], noun: str) -> Clusters | None:
    """Groups prompts by the cluster of each; None where all are alone.

    A prompt without one is alone. Prompts of one minimal set belong together, so clusters that share a set are one, and
    without clusters the sets are the clusters.
    """
    if all(cluster is None for cluster in clusters):
        noun = SETS
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
