"""Two models on the same text: the paired difference of every measure, over the lines that both could score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.catalog import Entry
from tiltmeter.families.heldout.annotations import annotated
from tiltmeter.families.heldout.estimate import EVERYTHING, reads_annotations, sample_of, stream_of, there
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.samples import compare_samples
from tiltmeter.stats.settings import Settings

OTHER_KIND = "not computed: a masked and a causal model are scored differently"
OTHER_TOKENS = "not computed: the two models cut the text into different tokens"


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second.

    The same lines are drawn for both, so that what is hard for any model cancels out; p is from the bootstrap of the
    difference.
    """
    ours, theirs = (answers.where(model=name).table for name in (first, second))
    for benchmark in dict.fromkeys(ours["benchmark"]):
        sides = [side[side["benchmark"] == benchmark] for side in (ours, theirs)]
        if not len(sides[1]):
            continue
        pair = _aligned(sides)
        known = Difference(
            str(benchmark), "heldout", str(sides[0]["scorer"].iloc[0]), "", *EVERYTHING, first, second,
            n=len(pair[0]), n_missing=max(map(len, sides)) - len(pair[0]),
        )  # fmt: skip
        note, lines = _obstacle(sides, pair), [annotated(answers, str(benchmark), side.reset_index()) for side in pair]
        for measure in measures:
            of_measure = replace(known, measure=measure.name)
            if not reads_annotations(measure):
                yield replace(of_measure, note=note) if note else _difference(of_measure, pair, measure, settings)
            elif lines[0] is not None and note in ("", OTHER_TOKENS):  # ranks of lines do not depend on the unit of surprise
                yield _difference(of_measure, lines, measure, settings)


def _aligned(sides: list[Any]) -> list[Any]:
    """Both on the lines that both could score, in the order of the first."""
    asked = [there(side).set_index("item") for side in sides]
    items = [item for item in asked[0].index if item in asked[1].index]
    return [side.loc[items] for side in asked]


def _obstacle(sides: list[Any], pair: list[Any]) -> str:
    if sides[0]["scorer"].iloc[0] != sides[1]["scorer"].iloc[0]:
        return OTHER_KIND
    if not len(pair[0]):
        return "not computed: no line could be scored by both models"
    return "" if (pair[0]["length"] == pair[1]["length"]).all() else OTHER_TOKENS


def _difference(row: Difference, pair: list[Any], measure: Entry, settings: Settings) -> Difference:
    samples = [sample_of(side) for side in pair]
    return compare_samples(row, measure, samples, (stream_of(settings, row.benchmark),), settings)
