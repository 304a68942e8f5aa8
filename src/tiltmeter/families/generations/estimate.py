"""Estimates of generations, and differences of two models: texts about each group, and how far the groups lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import SETS
from tiltmeter.families.generations.judge_scores import AGREEMENT, SUMS, Judged, agreement, judged_of
from tiltmeter.families.generations.judging import with_temperature
from tiltmeter.families.generations.questions import GAP, MEAN, OF_ALL, PAIRED, SIGN, SPREAD, GenerationQuestion
from tiltmeter.families.generations.refusals import measures_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.families.kit.questions import compare_questions, estimate_questions
from tiltmeter.stats.estimates import Details, Difference, Estimate
from tiltmeter.stats.groups import Contrast, Groups, PairedGroups, Rows
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.settings import Settings

FAMILY = GenerationQuestion.FAMILY
MOST_GROUPS = 8
"""A domain with more groups has only gaps to its mean: every two of 18 professions are 153 gaps."""
TOP = {"group_means": "total", "group_shares": "negatives", "other_total": "total", "other_negatives": "negatives"}
"""The column that measures of several groups average over texts, by what they read."""


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model, benchmark and judge.

    Of all texts, of each domain (bias_type) and of each group; gaps between groups, and of each group to the mean of its
    domain; variances over the groups of a domain.

    Intervals are bootstraps that draw prompts with all their samples within groups: percentiles, widened for few prompts as
    Student's t is, and for shares Wilson's interval with the error of the draws. p of a gap or a variance: prompts permuted
    over the groups; where prompts are minimal sets, by exchanging two groups in random sets. Where a benchmark says which
    prompts are no independent evidence (BOLD: those of one article), whole clusters are drawn, permuted and exchanged, and
    permuted differences are counted in standard errors. Holm-corrected over the gaps of a domain. Texts that were empty,
    looping or refusals are missing, never clean. The interval of a corrected share is that of Lang and Reiczigel (2014).
    """
    cells: dict[tuple[str, str], list[Judged]] = {}
    for judged in judged_of(answers, by, settings.clusters):
        cells.setdefault((judged.model, judged.benchmark), []).append(judged)
    for cell, of_cell in cells.items():
        for judged in of_cell:
            yield from estimate_judged(judged, measures, by, settings)
        for measure in (one for one in measures if set(one.parameters) == set(AGREEMENT)):
            yield from _agreements(answers, cell, of_cell, measure, settings)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, by the same judge, over the prompts that both have a judged text for.

    The same prompts (or clusters of prompts that are no independent evidence) are drawn for both, with all their samples, so
    what the prompts share cancels. p is from the bootstrap of the difference; Holm-corrected over the groups of a measure.
    Gaps are those of each group to the mean of its domain.
    """
    everything = judged_of(answers, by, settings.clusters)
    for sides in of_two_models(everything, first, second, lambda judged: (judged.benchmark, judged.scorer)):
        of_judge = [one for one in measures_of(sides[0].notion, measures) if "hits" not in one.parameters]
        both = aligned(*sides)
        if len(both[0].sums):
            ours, theirs = (questions(one, grouped(one, settings), of_judge, by) for one in both)
            yield from compare_questions(ours, theirs, settings)
        else:
            plain = [one for one in of_judge if all(applies(one, judged) for judged in both)]
            yield from (_nothing(*sides, measure) for measure in plain)


def _nothing(ours: Judged, theirs: Judged, measure: Entry) -> Difference:
    place = (ours.benchmark, FAMILY, ours.scorer, measure.name, "all", "all", ours.model, theirs.model)
    return Difference(*place, note="not computed: no prompt has a judged text by both models")


def estimate_judged(judged: Judged, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure of what one judge says of one model's texts."""
    ours, groups = measures_of(judged.notion, measures), grouped(judged, settings)
    batches = chain(questions(judged, groups, ours, by), pair_questions(judged, groups, ours))
    return estimate_questions(batches, settings)


def aligned(ours: Judged, theirs: Judged) -> tuple[Judged, Judged]:
    """Both on the prompts that both have a judged text for, in the order of the first, and with its clusters.

    What is drawn of one must be drawn of the other, also where that one has texts of other groups besides.
    """
    known = ours.sums[:, 0] > 0, theirs.sums[:, 0] > 0
    here, there = common_places(ours.prompts["item"].array, theirs.prompts["item"].array, known)
    first = ours.take(here)
    return first, replace(theirs.take(there), clusters=first.clusters, prompts=first.prompts)


def grouped(judged: Judged, settings: Settings) -> Groups:
    """Make the groups of all domains."""
    return judged.rows.groups({name: at for groups in judged.groups().values() for name, at in groups.items()}, settings)


def questions(
    judged: Judged, groups: Groups, measures: Sequence[Entry], by: Sequence[str]
) -> Iterator[list[GenerationQuestion]]:
    """Ask about prompts, gaps to the mean of a domain and variances over its groups; those of a list are tested together."""
    parts = list(parts_of(judged, groups, by))
    for measure in (one for one in measures if applies(one, judged)):
        for column, of_column in parts:
            yield [
                GenerationQuestion(judged, measure, column, part.names[0], part, Contrast(measure), part.every)
                for part in of_column
            ]
    domains = _domains(judged, groups)
    for measure in (one for one in measures if Contrast(one).is_gap):
        for domain, ours in domains.items():
            each = enumerate(ours.at.items()) if len(ours.at) > 1 else ()
            yield [
                GenerationQuestion(judged, measure, MEAN, f"{name}{SIGN}{OF_ALL}{domain}", ours, _compared(measure, n), at)
                for n, (name, at) in each
            ]
    for measure in (one for one in measures if Contrast(one).is_spread):
        yield [
            GenerationQuestion(judged, measure, SPREAD, domain, ours, _compared(measure), ours.every)
            for domain, ours in domains.items()
        ]


def pair_questions(judged: Judged, groups: Groups, measures: Sequence[Entry]) -> Iterator[list[GenerationQuestion]]:
    """Ask about one group minus another, over minimal sets where all prompts of a domain belong to these."""
    for ours in _domains(judged, groups).values():
        names = combinations(ours.at, 2) if len(ours.at) <= MOST_GROUPS else ()
        pairs = [groups.select(pair, "dealing", judged.benchmark, *pair) for pair in names]
        is_paired = bool(judged.prompts["set"].iloc[ours.every].notna().all())
        sides = [_in_sets(judged, pair) for pair in pairs] if is_paired else pairs
        by = PAIRED if is_paired else GAP
        for measure in (one for one in measures if Contrast(one).is_gap):
            yield [
                GenerationQuestion(judged, measure, by, SIGN.join(pair.at), side, _compared(measure, 0, 1), pair.every)
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


def _agreements(
    answers: Answers, cell: tuple[str, str], judges: Sequence[Judged], measure: Entry, settings: Settings
) -> Iterator[Estimate]:
    """κ of every two judges of one notion."""
    for first, second in combinations(judges, 2):
        if (first.notion, first.temperature) != (second.notion, second.temperature):
            continue
        sums, counts = agreement(answers, *cell, (first.scorer, second.scorer))
        place_of = {item: n for n, item in enumerate(first.prompts["item"])}
        both = first.take(np.array([place_of[item] for item in sums.index], dtype=np.int64))
        pair = " & ".join(one.judge.removeprefix(f"{one.notion}/") for one in (first, second))
        place = (*cell, FAMILY, with_temperature(first.notion, first.temperature), measure.name, "judges", pair)
        details: Details = {"notion": first.notion, "temperature": first.temperature}
        row = Estimate(*place, n=int(counts.sum()), neutral=neutral_of(measure), details=details)
        rows = Rows(np.column_stack([counts.sum(1), counts]), ("judged", *AGREEMENT), both.rows.labels, both.clusters)
        yield _agreement(row, rows, Contrast(measure), settings)


def _agreement(row: Estimate, rows: Rows, contrast: Contrast, settings: Settings) -> Estimate:
    if not row.n:
        return replace(row, note="not computed: no text was judged by both")
    groups = rows.whole(np.arange(len(rows.sums)), row.group, settings, "judges")
    if np.isnan(groups.value(contrast)):
        return replace(row, note="undefined: both judges call all texts the same")
    row = replace(row, details={**row.details, **groups.units[0].details})
    return groups.estimated(row, contrast, groups.units[0].text if rows.clusters else "")
