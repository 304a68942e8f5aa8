"""Two models on the same labelled texts: the difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.labels.estimands import Question, questions
from tiltmeter.families.labels.estimate import FAMILY, extra_columns
from tiltmeter.families.labels.facts import Facts, Floats, facts_of
from tiltmeter.families.labels.resample import counts_of, drawn, exchanged_models, units_of_question
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, corrected
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import ITEMS

Pair = tuple[Question, Question]


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the texts that both label.

    The same texts are drawn for both, and each model's own seeds. p is from the bootstrap of the difference; Holm-corrected
    over the groups, or domains, of a measure.
    """
    found = facts_of(answers, extra_columns(by), settings.clusters)
    theirs = {facts.benchmark: facts for facts in found if facts.model == second}
    for ours in (facts for facts in found if facts.model == first and facts.benchmark in theirs):
        both = aligned(ours, theirs[ours.benchmark])
        counts = list(counts_of(both[0], settings))
        asked = zip(*(questions(facts, measures, by) for facts in both), strict=True)
        pairs = (pair for pair in asked if not pair[0].curve)
        for _, together in groupby(pairs, key=lambda pair: (pair[0].measure.name, pair[0].scorer, pair[0].by)):
            yield from corrected([_difference(pair, both, counts, settings) for pair in together])


def aligned(ours: Facts, theirs: Facts) -> tuple[Facts, Facts]:
    """Both on the texts that both have, in the order of the first."""
    place = {item: n for n, item in enumerate(theirs.items)}
    here = np.array([n for n, item in enumerate(ours.items) if item in place], dtype=np.int64)
    there = np.array([place[ours.items[n]] for n in here], dtype=np.int64)
    return ours.take(here), theirs.take(there)


def _difference(pair: Pair, both: tuple[Facts, Facts], counts: Sequence[Floats], settings: Settings) -> Difference:
    ours, theirs = both
    asked = pair[0]
    place = (ours.benchmark, FAMILY, asked.scorer, asked.measure.name, asked.by, asked.group, ours.model, theirs.model)
    missing = max(facts.n_missing(asked.by, asked.group) for facts in both)
    known = Difference(*place, n=asked.n, n_missing=missing)
    if asked.lacking or pair[1].lacking:
        return replace(known, note=asked.lacking or pair[1].lacking)
    found = [drawn(question, facts, settings, counts) for question, facts in zip(pair, both, strict=True)]
    streams = [generator(settings.seed, "seeds", facts.model, facts.benchmark) for facts in both]
    draws = [one.both(stream) for one, stream in zip(found, streams, strict=True)]
    sides = [units_of_question(question, facts, one) for question, facts, one in zip(pair, both, found, strict=True)]
    units = replace(min(sides, key=lambda side: side.df), called=ITEMS)
    values = [one.value for one in found]
    seeds = {len(one.values) for one in found}
    # Exchanging texts leaves out the noise of training, so alone it serves single seeds; one-sided measures take the wider.
    may_exchange = seeds == {1} or (len(seeds) == 1 and asked.measure.spec.is_one_sided)
    exchanged = partial(exchanged_models, pair, ours, settings) if may_exchange else None
    return paired_difference(known, values, draws, asked.measure, settings, units=units, exchanged=exchanged)
