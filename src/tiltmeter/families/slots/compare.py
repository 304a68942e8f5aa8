"""Two models on the same slots: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models, pair_by
from tiltmeter.families.slots.estimate import SCORER, stream_of, units_of
from tiltmeter.families.slots.fills import Fills, fills_of
from tiltmeter.families.slots.questions import Question, questions_of
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.samples import compare_samples
from tiltmeter.stats.settings import Settings

RANKED_DIFFERENTLY = "not computed: the two models were ranked differently (another top k, or another kind of model)"


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the sentences in which both models have what the measure reads.

    The same sentences are drawn for both, so what the models share cancels. p is from the bootstrap of the difference;
    Holm-corrected over the groups, or the gaps, of a measure.
    """
    models = of_two_models(fills_of(answers, by), first, second)
    for ours, theirs in models:
        sides = questions_of(ours, measures, by), questions_of(theirs, measures, by)
        together = pair_by(sides[0], sides[1], lambda question: (question.measure.name, question.by, question.group))
        yield from each_corrected(_differences(pairs, settings) for pairs in together)


def aligned(ours: Fills, theirs: Fills) -> tuple[Fills, Fills]:
    """Both on the sentences that both models could fill, in the order of the first."""
    known = [[reason is None for reason in fills.reason] for fills in (ours, theirs)]
    here, there = common_places(ours.groups["item"].array, theirs.groups["item"].array, (known[0], known[1]))
    return ours.take(here), theirs.take(there)


def _differences(pairs: Sequence[tuple[Question, Question]], settings: Settings) -> Difference | list[Difference]:
    """Differences that are tested together; a single one where it is about whom sentences are about."""
    if not pairs:
        return []
    ours, theirs = pairs[0]
    here, there = aligned(ours.fills, theirs.fills)
    rows = [_difference(replace(question, fills=here), replace(question, fills=there), settings) for question, _ in pairs]
    return rows[0] if ours.pair is None else rows


def _difference(ours: Question, theirs: Question, settings: Settings) -> Difference:
    """The difference over the sentences in which both models have the matches that the measure reads."""
    common = ours.has_matches & theirs.has_matches
    n, n_all = int(common.sum()), len(common)
    ours, theirs = (replace(one, fills=one.fills.take(common)) for one in (ours, theirs))
    here, there = ours.fills, theirs.fills
    label, measure = (ours.by, ours.group), ours.measure
    place = (here.benchmark, "slots", SCORER, measure.name, *label, here.model, there.model)
    row = Difference(*place, n=n, n_missing=n_all - n)
    if here.k != there.k or here.among != there.among:
        return replace(row, note=RANKED_DIFFERENTLY)
    row = replace(row, details={"top_k": here.k, "ranked_among": here.among})
    if not n:
        return replace(row, note="not computed: no sentence has a match by both models")
    if ours.pair is None and here.groups["target"].nunique() < 2:
        return replace(row, note="not computed: sentences with matches by both models are about one group only")
    streams = stream_of(settings, here.benchmark, ours.by), generator(settings.seed, "exchange", here.benchmark, *label)
    samples = [ours.sample, theirs.sample]
    return compare_samples(row, measure, samples, streams, settings, units_of(samples[0], n))
