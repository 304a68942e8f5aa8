"""Permutation tests between groups: prompts, or whole clusters of prompts, are permuted over the groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tiltmeter.families.generations.draws import COLUMN, Floats, Ints
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.stats.design import generator
from tiltmeter.stats.group_tests import GroupTest, Pieces
from tiltmeter.stats.group_tests import group_test as test_of_pieces
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.settings import Settings


def lone_groups(judged: Judged, groups: Mapping[str, Ints]) -> list[str]:
    """List the groups with too few clusters for a test, where prompts have clusters."""
    return [name for name, rows in groups.items() if judged.clusters and judged.units(rows).n < FEWEST]


def left_out(judged: Judged, groups: Mapping[str, Ints]) -> str:
    """Name the groups that a test leaves out, for notes."""
    lone = lone_groups(judged, groups)
    return f"p leaves out {', '.join(lone)}: {judged.units(groups[lone[0]]).few}" if lone else ""


def pieces_of(judged: Judged, groups: Mapping[str, Ints]) -> Pieces:
    """Sums of each cluster, or each prompt, for each group; prompts without a judged text are left out of clusters."""
    rows = np.concatenate(list(groups.values()))
    group = np.repeat(np.arange(len(groups)), [len(at) for at in groups.values()])
    if judged.clusters is None:
        return Pieces(judged.sums[rows], np.arange(len(rows)), group, len(groups))
    there = judged.sums[rows, 0] > 0
    return Pieces.of(judged.sums[rows[there]], judged.clusters.codes[rows][there], group[there], len(groups))


def permuted(judged: Judged, groups: Mapping[str, Ints], settings: Settings, *labels: str) -> Floats:
    """Permutations × groups × columns: the sums of groups whose prompts are permuted."""
    rng = generator(settings.seed, "dealing", judged.benchmark, *labels)
    return pieces_of(judged, groups).permuted(settings.resamples, rng)


def group_test(judged: Judged, groups: Mapping[str, Ints], top: str, settings: Settings, *labels: str) -> GroupTest:
    """Test groups whose prompts have clusters. `top` is what is summed: scores, or negative texts."""
    rng = generator(settings.seed, "dealing", judged.benchmark, *labels)
    pieces = pieces_of(judged, groups)
    pieces = replace(pieces, sums=pieces.sums[:, [COLUMN["judged"], COLUMN[top]]])
    return test_of_pieces(list(groups), pieces, settings.resamples, rng, FEWEST)
