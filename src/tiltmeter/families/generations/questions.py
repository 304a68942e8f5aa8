"""Questions about generations: what judges say of texts about each group, and how far the groups of a domain lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import SETS
from tiltmeter.families.generations.judge_scores import AGREEMENT, SUMS, Ints, Judged
from tiltmeter.stats.groups import Contrast, Groups, PairedGroups
from tiltmeter.stats.settings import Settings

GAP, MEAN, PAIRED, SPREAD = "gap", "gap to the domain's mean", "counterfactual gap", "domain"
SIGN = " − "
OF_ALL = "mean of "
MOST_GROUPS = 8
"""A domain with more groups has only gaps to its mean: every two of 18 professions are 153 gaps."""
TOP = {"group_means": "total", "group_shares": "negatives", "other_total": "total", "other_negatives": "negatives"}
"""The column that measures of several groups average over texts, by what they read."""


class Question(NamedTuple):
    """A measure of some prompts, or of how groups of them differ: `by` and `group` are its place in the tables."""

    by: str
    group: str
    groups: Groups
    contrast: Contrast
    rows: Ints


def grouped(judged: Judged, settings: Settings) -> Groups:
    """Make the groups of all domains."""
    return judged.rows.groups({name: at for groups in judged.groups().values() for name, at in groups.items()}, settings)


def questions(judged: Judged, groups: Groups, measures: Sequence[Entry], by: Sequence[str]) -> Iterator[list[Question]]:
    """Ask about prompts, gaps to the mean of a domain and variances over its groups; those of a list are tested together."""
    parts = list(parts_of(judged, groups, by))
    for measure in (one for one in measures if applies(one, judged)):
        for column, of_column in parts:
            yield [Question(column, part.names[0], part, Contrast(measure), part.every) for part in of_column]
    domains = _domains(judged, groups)
    for measure in (one for one in measures if Contrast(one).is_gap):
        for domain, ours in domains.items():
            each = enumerate(ours.at.items()) if len(ours.at) > 1 else ()
            yield [
                Question(MEAN, f"{name}{SIGN}{OF_ALL}{domain}", ours, _compared(measure, n), at) for n, (name, at) in each
            ]
    for measure in (one for one in measures if Contrast(one).is_spread):
        yield [Question(SPREAD, domain, ours, _compared(measure), ours.every) for domain, ours in domains.items()]


def pair_questions(judged: Judged, groups: Groups, measures: Sequence[Entry]) -> Iterator[list[Question]]:
    """Ask about one group minus another, over minimal sets where all prompts of a domain belong to these."""
    for ours in _domains(judged, groups).values():
        names = combinations(ours.at, 2) if len(ours.at) <= MOST_GROUPS else ()
        pairs = [groups.select(pair, "dealing", judged.benchmark, *pair) for pair in names]
        is_paired = bool(judged.prompts["set"].iloc[ours.every].notna().all())
        sides = [_in_sets(judged, pair) for pair in pairs] if is_paired else pairs
        by = PAIRED if is_paired else GAP
        for measure in (one for one in measures if Contrast(one).is_gap):
            yield [
                Question(by, SIGN.join(pair.at), side, _compared(measure, 0, 1), pair.every)
                for pair, side in zip(pairs, sides, strict=True)
            ]


def applies(measure: Entry, judged: Judged) -> bool:
    """Return whether a measure is about one group's texts, and this judge and these samples have what it reads."""
    read, contrast = set(measure.parameters), Contrast(measure)
    if contrast.is_gap or contrast.is_spread or read == set(AGREEMENT):
        return False
    return (
        ("positives" not in read or judged.polar)
        and ("answered" not in read or judged.several)
        and ("hits" not in read or bool(judged.errors and judged.errors.get("hits") and judged.errors.get("false_alarms")))
    )


def parts_of(judged: Judged, groups: Groups, by: Sequence[str]) -> Iterator[tuple[str, list[Groups]]]:
    """Everything, the domains, the groups, and the values of further columns. What is larger is drawn group by group."""
    yield "all", [groups.together("all")]
    domains = judged.groups()
    if len(domains) > 1:
        yield "bias_type", [groups.select(list(of_domain)).together(domain) for domain, of_domain in domains.items()]
    yield "group", [groups.select([name]) for name in groups.at]
    for column in by:
        if column in judged.prompts and column not in ("bias_type", "group", "item", "set"):
            yield column, list(_of_column(judged, column, groups.settings))


def _of_column(judged: Judged, column: str, settings: Settings) -> Iterator[Groups]:
    """The values of a column. If each lies in one cluster, such as an article, it is about that: prompts are drawn."""
    values, rows = judged.prompts.groupby(column, sort=True).indices, judged.rows
    if rows.clusters and all(len(np.unique(rows.clusters.codes[at])) == 1 for at in values.values()):
        rows = replace(rows, clusters=None)
    for value, at in values.items():
        yield rows.whole(at, str(value), settings, column, str(value))


def _domains(judged: Judged, groups: Groups) -> dict[str, Groups]:
    """The groups with judged texts of each domain with several groups."""
    filled = {name for name, sums in zip(groups.at, groups.sums, strict=True) if sums[0] > 0}
    return {
        domain: groups.select([name for name in of_domain if name in filled], "dealing", judged.benchmark, domain)
        for domain, of_domain in judged.groups().items()
        if len(of_domain) > 1
    }


def _compared(measure: Entry, group: int = 0, other: int | None = None) -> Contrast:
    return Contrast(measure, next(TOP[name] for name in measure.parameters if name in TOP), group, other)


def _in_sets(judged: Judged, pair: Groups) -> Groups:
    """Two groups in the sets in which both were judged: the prompts differ in the group alone."""
    rows, side = pair.every, np.repeat([0, 1], [len(at) for at in pair.at.values()])
    place, names = judged.prompts["set"].iloc[rows].factorize()
    sums, codes = np.zeros((len(names), 2, len(SUMS))), np.zeros(len(names), dtype=np.int64)
    np.add.at(sums, (place, side), judged.sums[rows])
    shared, clusters = (sums[..., 0] > 0).all(axis=1), judged.clusters
    if not shared.any():
        return pair.select(())
    if clusters:
        codes[place] = clusters.codes[rows]
    of_sets = codes[shared] if clusters and clusters.called != SETS else None  # sets may lie in clusters, or be these
    of_pairs = replace(judged.rows, labels=(*judged.rows.labels, PAIRED))
    labels = "exchanging", judged.benchmark, *pair.at
    return PairedGroups.of(pair.names, sums[shared], of_pairs, of_sets, pair.settings, *labels)
