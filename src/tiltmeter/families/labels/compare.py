"""Two models on the same labelled texts: the difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models, pair_by
from tiltmeter.families.labels.estimands import Question, questions
from tiltmeter.families.labels.estimate import FAMILY, extra_columns, tested_together
from tiltmeter.families.labels.facts import Facts, Floats, facts_of
from tiltmeter.families.labels.resample import counts_of, drawn, exchanged_models, seeds_of, units_of
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.settings import Settings

Pair = tuple[Question, Question]


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the texts that both label.

    The same texts are drawn for both, and each model's own seeds. p is from the bootstrap of the difference; Holm-corrected
    over the groups, or domains, of a measure.
    """
    for ours, theirs in of_two_models(facts_of(answers, extra_columns(by), settings.clusters), first, second):
        both = aligned(ours, theirs)
        counts, sides = list(counts_of(both[0], settings)), [questions(facts, measures, by) for facts in both]
        lists = [tested_together(question for question in side if not question.curve) for side in sides]
        together = pair_by(lists[0], lists[1], _place)
        yield from each_corrected([_difference(pair, both, counts, settings) for pair in some] for some in together)


def aligned(ours: Facts, theirs: Facts) -> tuple[Facts, Facts]:
    """Both on the texts that both have, in the order of the first."""
    here, there = common_places(ours.items, theirs.items)
    return ours.take(here), theirs.take(there)


def _place(question: Question) -> tuple[str, ...]:
    """Identify a question, whichever model answered it."""
    return question.measure.name, question.scorer, question.by, question.group


def _difference(pair: Pair, both: tuple[Facts, Facts], counts: Sequence[Floats], settings: Settings) -> Difference:
    ours, theirs = both
    asked = pair[0]
    place = (ours.benchmark, FAMILY, asked.scorer, asked.measure.name, asked.by, asked.group, ours.model, theirs.model)
    missing = max(facts.n_missing(asked.by, asked.group) for facts in both)
    known = Difference(*place, n=asked.n, n_missing=missing)
    if asked.lacking or pair[1].lacking:
        return replace(known, note=asked.lacking or pair[1].lacking)
    found = [drawn(question, facts, settings, counts) for question, facts in zip(pair, both, strict=True)]
    draws = [one.both(seeds_of(facts, settings)) for one, facts in zip(found, both, strict=True)]
    sides = [units_of(question, facts, one) for question, facts, one in zip(pair, both, found, strict=True)]
    units = min(sides, key=lambda side: side.df)
    seeds = {len(one.values) for one in found}
    # Exchanging texts leaves out the noise of training, so alone it serves single seeds; one-sided measures take the wider.
    may_exchange = seeds == {1} or (len(seeds) == 1 and asked.measure.spec.is_one_sided)
    exchanged = partial(exchanged_models, pair, ours, settings) if may_exchange else None
    values = [one.value for one in found]
    return paired_difference(known, values, draws, asked.measure, settings, units=units, exchanged=exchanged)
