"""Two models on the same prompts: the paired difference of what each judge says of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.estimate import FAMILY
from tiltmeter.families.generations.judge_scores import Judged, judged_of
from tiltmeter.families.generations.questions import MEAN, SPREAD, Question, applies, grouped, questions
from tiltmeter.families.generations.refusals import measures_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models, pair_by
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.groups import compare_groups
from tiltmeter.stats.settings import Settings


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
    yield from each_corrected(row for ours, theirs in models for row in _compare(ours, theirs, measures, by, settings))


def _compare(
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


def aligned(ours: Judged, theirs: Judged) -> tuple[Judged, Judged]:
    """Both on the prompts that both have a judged text for, in the order of the first, and with its clusters.

    What is drawn of one must be drawn of the other, also where that one has texts of other groups besides.
    """
    known = ours.sums[:, 0] > 0, theirs.sums[:, 0] > 0
    here, there = common_places(ours.prompts["item"].array, theirs.prompts["item"].array, known)
    first = ours.take(here)
    return first, replace(theirs.take(there), clusters=first.clusters, prompts=first.prompts)


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
