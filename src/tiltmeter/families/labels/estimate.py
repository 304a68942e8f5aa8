"""Estimating labels: every measure of all texts, groups, domains and counterfactuals, with intervals, counts and p."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.catalog import Entry
from tiltmeter.display import share_text
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.labels.estimands import Question, questions
from tiltmeter.families.labels.facts import Facts, Floats, facts_of
from tiltmeter.families.labels.resample import counts_of, drawn, gap_interval, groups_p, seeds_of, under_chance, units_of
from tiltmeter.stats.estimates import Estimate, each_corrected
from tiltmeter.stats.measured import neutral_of, with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p

FAMILY = "labels"
CHANCE_NOTE = "mean over permutations within clusters, since texts of a cluster are not independent"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is all, group, domain, threshold, swap, or a column of yours.

    The value is the mean over seeds. Intervals draw texts (clusters of texts where they belong together) and seeds, at two
    levels; notes say which part of the variance is that of the seeds. p of gaps and of domain scores: who is called toxic
    is permuted at random among texts of the same label (in clusters: whole clusters, with rates in standard errors);
    Holm-corrected over the groups, or domains, of a measure.
    """
    for facts in facts_of(answers, extra_columns(by), settings.clusters):
        counts, asked = list(counts_of(facts, settings)), tested_together(questions(facts, measures, by))
        yield from each_corrected([_estimate_question(one, facts, counts, settings) for one in some] for some in asked)


def tested_together(estimands: Iterable[Question]) -> Iterator[list[Question]]:
    """The groups, or domains, of a measure, which are tested together."""
    for _, together in groupby(estimands, key=lambda question: (question.measure.name, question.scorer, question.by)):
        yield list(together)


def extra_columns(by: Sequence[str]) -> list[str]:
    """Columns of the user's; those that every benchmark has are about pairs."""
    return [column for column in by if column not in (*GROUP_COLUMNS, "all")]


def _blank(question: Question, facts: Facts) -> Estimate:
    """An estimate without its value."""
    return Estimate(
        *(facts.model, facts.benchmark, FAMILY, question.scorer, question.measure.name, question.by, question.group),
        n=question.n,
        n_missing=facts.n_missing(question.by, question.group),
        neutral=neutral_of(question.measure),
        missing=json.dumps(dict(facts.reasons)) if facts.reasons else "",
        note=question.lacking,
        details=question.details,
    )


def _estimate_question(question: Question, facts: Facts, counts: Sequence[Floats], settings: Settings) -> Estimate:
    row, spec = _blank(question, facts), question.measure.spec
    if question.lacking:
        return row
    if facts.clustered and spec.chance_of is not None:
        by_chance = under_chance(question, facts, settings, spec.chance_of)
        return replace(row, value=float(np.nanmean(by_chance)), note=CHANCE_NOTE)
    found = drawn(question, facts, settings, counts)
    if np.isnan(found.value):
        of_groups = "members" in question.fixed  # `kaggle_score` reads groups of more than 500 texts only
        lacking = "no group has enough texts" if of_groups else "no text is left on one of the two sides that are compared"
        return replace(row, note=f"not computed: {lacking}")
    n_draws, share = found.texts.shape[1], found.seeds_share
    details = {**row.details, "seeds_share": share, "n_resamples": n_draws}
    row = replace(row, value=found.value, p=p_value(question, facts, found.value, settings), details=details)
    units, draws = units_of(question, facts, found), found.both(seeds_of(facts, settings))
    row = with_interval(row, question.measure, units, draws, settings, _of_seeds(share), _fewer(n_draws, settings))
    if spec.difference_of:
        rate = catalog.find("measures", spec.difference_of)
        low, high = gap_interval(question, facts, rate, settings, counts)
        row = replace(row, low=low, high=high)
    return row


def _of_seeds(share: float) -> str:
    return "" if np.isnan(share) else f"{share_text(share, 0)} of the variance is that of the seeds"


def _fewer(draws: int, settings: Settings) -> str:
    return f"interval from {draws} resamples, since there are many texts" if draws < settings.resamples else ""


def p_value(question: Question, facts: Facts, value: float, settings: Settings) -> float:
    """Permutation p, only where groups are compared, and not for each point of a curve."""
    neutral = neutral_of(question.measure)
    tested = {"member", "members"} & set(question.fixed) and "called" in question.varying and not question.curve
    if np.isnan(neutral) or not tested:
        return float("nan")
    if facts.clustered:
        return groups_p(question, facts, settings)
    again = under_chance(question, facts, settings, question.measure.function)
    centre = neutral if question.measure.spec.is_one_sided else float(np.nanmean(again))
    return permutation_p(value, again, centre)
