"""Two models on the same prompts: the paired difference of what each judge says of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.described import FAMILY, difference_of
from tiltmeter.families.generations.draws import Floats, compare_sums, measured
from tiltmeter.families.generations.estimate import Part, applies, is_gap, is_spread, parts_of
from tiltmeter.families.generations.gap_differences import gap_differences, spread_differences
from tiltmeter.families.generations.judge_scores import Judged, judged_of
from tiltmeter.families.generations.refusals import measures_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.stats.estimates import Difference, each_corrected
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
    of_judge = measures_of(ours.notion, measures)
    plain = [one for one in of_judge if "hits" not in one.parameters and all(applies(one, each) for each in pair)]
    if not len(pair[0].sums):
        yield from (_nothing(ours, theirs.model, measure) for measure in plain)
        return
    parts = list(zip(*(parts_of(one, by, settings) for one in pair), strict=True))
    for measure in plain:
        for kind in dict.fromkeys(here.by for here, _ in parts):
            yield [_difference(pair, both, measure, settings) for both in parts if both[0].by == kind]
    yield from gap_differences(pair, [one for one in of_judge if is_gap(one)], settings)
    yield from spread_differences(pair, [one for one in of_judge if is_spread(one)], settings)


def aligned(ours: Judged, theirs: Judged) -> tuple[Judged, Judged]:
    """Both on the prompts that both have a judged text for, in the order of the first, and with its clusters.

    What is drawn of one must be drawn of the other, also where that one has texts of other groups besides.
    """
    known = ours.sums[:, 0] > 0, theirs.sums[:, 0] > 0
    here, there = common_places(ours.prompts["item"].array, theirs.prompts["item"].array, known)
    first = ours.take(here)
    return first, replace(theirs.take(there), clusters=first.clusters)


def _difference(pair: tuple[Judged, Judged], parts: tuple[Part, Part], measure: Entry, settings: Settings) -> Difference:
    part = parts[0]
    row = difference_of(pair, measure, (part.by, part.group), part.rows)
    row = replace(row, details={**pair[0].details, **part.units.details})
    draws = [one.draws[:, None] for one in parts]
    return compare_sums(row, measure, pair, [part.rows], partial(of_one, measure), draws, part.units, settings)


def of_one(measure: Entry, sums: Floats) -> Floats:
    """A measure of the first group's sums."""
    return measured(measure, sums[..., 0, :])


def _nothing(ours: Judged, second: str, measure: Entry) -> Difference:
    place = (ours.benchmark, FAMILY, ours.scorer, measure.name, "all", "all", ours.model, second)
    return Difference(*place, note="not computed: no prompt has a judged text by both models")
