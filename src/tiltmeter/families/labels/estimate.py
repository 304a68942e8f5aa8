"""Estimating labels: every measure of all texts, groups, domains and counterfactuals, with intervals, counts and p."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from tiltmeter.families.labels.resample import counts_of, drawn, gap_interval, groups_p, under_chance, units_of_question
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.measured import interval_of, neutral_of
from tiltmeter.stats.resampling import generator
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
        counts = list(counts_of(facts, settings))
        asked = questions(facts, measures, by)
        for _, together in groupby(asked, key=lambda question: (question.measure.name, question.scorer, question.by)):
            yield from corrected([_estimate_question(question, facts, counts, settings) for question in together])


def extra_columns(by: Sequence[str]) -> list[str]:
    """Columns of the user's; those that every benchmark has are about pairs."""
    return [column for column in by if column not in (*GROUP_COLUMNS, "all")]


def _estimate_question(question: Question, facts: Facts, counts: Sequence[Floats], settings: Settings) -> Estimate:
    measure = question.measure
    base = Estimate(
        facts.model,
        facts.benchmark,
        FAMILY,
        question.scorer,
        measure.name,
        question.by,
        question.group,
        n=question.n,
        n_missing=facts.n_missing(question.by, question.group),
        neutral=neutral_of(measure),
        missing=json.dumps(dict(facts.reasons)) if facts.reasons else "",
        details=question.details,
    )
    if question.lacking:
        return replace(base, note=question.lacking)
    if facts.clustered and (by_chance := measure.spec.chance_of) is not None:
        return replace(base, value=float(np.nanmean(under_chance(question, facts, settings, by_chance))), note=CHANCE_NOTE)
    found = drawn(question, facts, settings, counts)
    if np.isnan(found.value):
        of_groups = "members" in question.fixed  # `kaggle_score` reads groups of more than 500 texts only
        lacking = "no group has enough texts" if of_groups else "no text is left on one of the two sides that are compared"
        return replace(base, note=f"not computed: {lacking}")
    stream = generator(settings.seed, "seeds", facts.model, facts.benchmark)
    p = p_value(question, facts, found.value, settings)
    units = units_of_question(question, facts, found)
    low, high, note = interval_of(measure, units, found.value, found.both(stream), settings, p)
    if rate := measure.spec.difference_of:
        low, high = gap_interval(question, facts, catalog.find("measures", rate), settings, counts)
    notes = [note, _of_seeds(found.seeds_share), _fewer(found.texts.shape[1], settings)]
    details = {**base.details, "seeds_share": found.seeds_share, "n_resamples": found.texts.shape[1]}
    notes_text = "; ".join(filter(None, notes))
    return replace(base, value=found.value, low=low, high=high, p=p, details=details, note=notes_text)


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
