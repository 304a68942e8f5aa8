"""Two models on the same questions: the paired difference of every measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pandas as pd

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.estimate import RANKS, TOO_FEW, stream_of
from tiltmeter.families.choices.outcomes import (
    FEWEST_TEMPLATES,
    about,
    clustered_answers,
    counted,
    counts_of,
    design_of,
    groups_of,
    has_answer,
    reads_of,
)
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals, compare_totals


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """Compute the first model minus the second, over the questions that both answered.

    Intervals are bootstraps that draw the same templates for both models, widened for few templates; p exchanges the two
    models in random templates.
    """
    answers = clustered_answers(answers, clusters=settings.clusters)
    ours, theirs = (answers.where(model=name).table for name in (first, second))
    both = (_common(rows, theirs) for _, rows in ours.groupby(["benchmark", "scorer"], sort=False))
    yield from each_corrected(
        row for sides in both if len(sides[0]) for row in _compare(answers, sides, measures, by, settings)
    )


def _common(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The questions of one benchmark and scorer that both models have answers to, in the same order."""
    benchmark, scorer = ours["benchmark"].iloc[0], ours["scorer"].iloc[0]
    other = theirs[(theirs["benchmark"] == benchmark) & (theirs["scorer"] == scorer)].set_index("item")
    ours = ours[ours["item"].isin(other.index)]
    return ours, other.loc[ours["item"]].reset_index()


def _compare(
    answers: Answers,
    sides: tuple[pd.DataFrame, pd.DataFrame],
    measures: Sequence[Entry],
    by: Sequence[str],
    settings: Settings,
) -> Iterator[Difference | list[Difference]]:
    """Compare one benchmark, overall and by group; the groups of a column are tested together."""
    first, second = sides
    asked = {(column, group): part for column, group, part in groups_of(first, answers, by)}
    for measure in (measure for measure in measures if RANKS not in measure.parameters):
        fitting = {column for column, _ in asked if set(measure.parameters) <= reads_of(first, column)}
        there = has_answer(first, measure) & has_answer(second, measure) if fitting else np.zeros(len(first), dtype=bool)
        parts = zip(*(groups_of(side[there], answers, by) for side in sides), strict=True) if there.any() else ()
        for column, of_column in groupby(parts, key=lambda pair: pair[0][0]):
            rows = []
            for (_, group, ours), (_, _, theirs) in of_column if column in fitting else ():
                names = (first["benchmark"].iloc[0], "choices", first["scorer"].iloc[0], measure.name, column, group)
                missing = int(about(asked[column, group], measure).sum() - about(ours, measure).sum())
                row = Difference(*names, first["model"].iloc[0], second["model"].iloc[0], n_missing=missing)
                rows.append(_difference(row, (ours, theirs), measure, settings))
            yield from rows if column == "all" else [rows]


def _difference(row: Difference, pair: tuple[pd.DataFrame, pd.DataFrame], measure: Entry, settings: Settings) -> Difference:
    n = int((counted(pair[0], measure) | counted(pair[1], measure)).sum())
    design = design_of(pair[0])
    ours, theirs = (Totals.of(measure, counts_of(side), design) for side in pair)
    difference = ours.value - theirs.value
    row = replace(row, n=n, details={"n_templates": design.n_clusters})
    if design.n_clusters < FEWEST_TEMPLATES and not np.isnan(difference):
        return replace(row, value=ours.value, baseline_value=theirs.value, difference=difference, note=TOO_FEW)
    return compare_totals(row, ours, theirs, stream_of(settings, row.benchmark, row.by, row.group), settings)
