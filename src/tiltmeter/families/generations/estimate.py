"""Estimates of generations, and differences of two models: texts about each group, and how far the groups lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judge_scores import AGREEMENT, Judged, agreement, judged_of
from tiltmeter.families.generations.judging import with_temperature
from tiltmeter.families.generations.questions import (
    GAP,
    MEAN,
    PAIRED,
    SPREAD,
    Question,
    applies,
    grouped,
    pair_questions,
    questions,
)
from tiltmeter.families.generations.refusals import measures_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models, pair_by
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Details, Difference, Estimate, each_corrected, joined, missing_columns
from tiltmeter.stats.groups import Contrast, Groups, PairedGroups, Rows, compare_groups
from tiltmeter.stats.intervals import FEWEST, prevalence_interval
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.settings import Settings

FAMILY = "generations"
JUDGE_RATES = {"hits": "hits", "alarms": "false_alarms"}
"""Rates of a judge, by what measures call them, and as they are stored."""


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
        yield from each_corrected(rows for judged in of_cell for rows in estimate_judged(judged, measures, by, settings))
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
    models = of_two_models(everything, first, second, lambda judged: (judged.benchmark, judged.scorer))
    yield from each_corrected(
        row for ours, theirs in models for row in _compare_judged(ours, theirs, measures, by, settings)
    )


def _compare_judged(
    ours: Judged, theirs: Judged, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference | list[Difference]]:
    """Compare what a judge says of the texts of two models; the groups of a column are tested together."""
    pair = aligned(ours, theirs)
    of_judge = [one for one in measures_of(ours.notion, measures) if "hits" not in one.parameters]
    if not len(pair[0].sums):
        plain = [one for one in of_judge if all(applies(one, each) for each in pair)]
        yield from (_nothing(ours, theirs.model, measure) for measure in plain)
        return
    asked = [questions(one, grouped(one, settings), of_judge, by) for one in pair]
    for together in pair_by(asked[0], asked[1], lambda question: (question.contrast.measure.name, *question[:2])):
        yield [_difference(pair, both) for both in together]


def estimate_judged(
    judged: Judged, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[list[Estimate]]:
    """Every measure of what one judge says of one model's texts; the rows of a list are tested together."""
    ours, groups = measures_of(judged.notion, measures), grouped(judged, settings)
    for together in chain(questions(judged, groups, ours, by), pair_questions(judged, groups, ours)):
        yield [_estimate(judged, question) for question in together]


def aligned(ours: Judged, theirs: Judged) -> tuple[Judged, Judged]:
    """Both on the prompts that both have a judged text for, in the order of the first, and with its clusters.

    What is drawn of one must be drawn of the other, also where that one has texts of other groups besides.
    """
    known = ours.sums[:, 0] > 0, theirs.sums[:, 0] > 0
    here, there = common_places(ours.prompts["item"].array, theirs.prompts["item"].array, known)
    first = ours.take(here)
    return first, replace(theirs.take(there), clusters=first.clusters, prompts=first.prompts)


def _estimate(judged: Judged, question: Question) -> Estimate:
    groups, contrast, rows = question.groups, question.contrast, question.rows
    row = Estimate(
        *(judged.model, judged.benchmark, FAMILY, judged.scorer, contrast.measure.name, question.by, question.group),
        n=len(groups.at) if contrast.is_spread else int(judged.sums[rows, 0].sum()),
        neutral=neutral_of(contrast.measure),
        details={**judged.details, **judged.rows.units(rows).details},
        **missing_columns(judged.reasons(rows)),
    )
    if lacking := _lacking(question, row.n):
        return replace(row, details={**row.details, **_counts(question)}, note=f"not computed: {lacking}")
    row = replace(row, details={**row.details, **groups.units_of(contrast).details, **_counts(question)})
    if "hits" in contrast.measure.parameters and judged.errors:
        return _corrected(row, contrast.measure, groups, judged.errors)
    return groups.estimated(row, contrast, *_remarks(judged, question), errors_text(judged.errors))


def _counts(question: Question) -> Details:
    """Count the groups of a variance, or the sets of a paired gap."""
    if isinstance(question.groups, PairedGroups):
        return {"n_sets": question.groups.n_pairs}
    return {"n_groups": len(question.groups.at)} if question.by == SPREAD else {}


def _lacking(question: Question, n: int) -> str:
    """Return why a question has no answer."""
    if question.by == PAIRED:
        return "" if question.groups.at else "no set has a judged text of both groups"
    if question.by == SPREAD:
        return "fewer than 2 groups, or one prompt in each" if n < 2 or len(question.rows) <= n else ""
    return "" if n else "no text could be judged"


def _remarks(judged: Judged, question: Question) -> Iterator[str]:
    """Yield what a note says of groups that are left out, and of prompts that are no independent evidence."""
    groups, units = question.groups, question.groups.units_of(question.contrast)
    text = units.text if judged.clusters else ""
    if question.by == GAP:
        weaker = min(groups.units, key=lambda side: side.effective)
        yield f"{weaker.text} on the weaker side" if judged.clusters else ""
    elif question.by == PAIRED:
        within = f" in {units.n} {units.called}" if groups.rows.clusters else ""
        yield f"{_counts(question)['n_sets']} sets{within}"
    elif question.by == MEAN:
        yield from (groups.left_out if groups.left_out and np.isfinite(groups.p(question.contrast)) else "", text)
    elif question.by == SPREAD:
        if 0 < len(groups.lone) < len(groups.at):
            why = f"the interval is too narrow, because there are fewer than {FEWEST} {units.called}"
            yield from (f"{why}: {', '.join(groups.lone)}", groups.left_out)
        yield from ("sample variance over groups", text)
    else:
        yield units.text


def _difference(pair: tuple[Judged, Judged], both: tuple[Question, Question]) -> Difference:
    ours, theirs = pair
    asked, groups = both[0], both[0].groups
    place = (ours.benchmark, FAMILY, ours.scorer, asked.contrast.measure.name, *asked[:2], ours.model, theirs.model)
    missing = sum(sum(one.reasons(asked.rows).values()) for one in pair)
    row = Difference(*place, n=len(asked.rows), n_missing=missing)
    if asked.by not in (MEAN, SPREAD):
        row = replace(row, details={**ours.details, **groups.units[0].details})
    return compare_groups(row, groups, both[1].groups, asked.contrast)


def _nothing(ours: Judged, second: str, measure: Entry) -> Difference:
    place = (ours.benchmark, FAMILY, ours.scorer, measure.name, "all", "all", ours.model, second)
    return Difference(*place, note="not computed: no prompt has a judged text by both models")


def _corrected(row: Estimate, measure: Entry, part: Groups, errors: Mapping[str, Any]) -> Estimate:
    """Fill in a corrected share; its interval is of what the judge counts, and of what measuring the judge leaves open."""
    units, remarks = part.units[0], (part.units[0].text, errors_text(errors))
    rates = {name: np.array(errors[of]["k"] / errors[of]["n"]) for name, of in JUDGE_RATES.items()}
    row = replace(row, value=float(part.value(Contrast(measure, constants=rates))))
    if units.too_few or units.n < FEWEST:
        return replace(row, note=joined(f"no interval: {units.too_few or units.text}", *remarks))
    plain = Contrast(catalog.find("measures", "negative_share"))
    share, error = float(part.value(plain)), float(np.nanstd(part.value(plain, part.draws), ddof=1))
    judge = [(errors[name]["k"], errors[name]["n"]) for name in JUDGE_RATES.values()]
    texts, df = units.texts(share, error), units.of_shares[0]
    low, high = prevalence_interval(share, texts, (judge[0], judge[1]), part.settings.confidence, df)
    note = "" if np.isfinite(low) else "no interval: the judge's hits are not above its false alarms"
    return replace(row, low=low, high=high, note=joined(note, *remarks))


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
