"""Two models on the same questions: the paired difference of every measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.estimate import RANKS, TOO_FEW, stream_of, totals_of
from tiltmeter.families.choices.outcomes import (
    FEWEST_TEMPLATES,
    about,
    clustered_answers,
    counted,
    design_of,
    groups_of,
    has_answer,
    reads_of,
)
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.design import Design
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, corrected
from tiltmeter.stats.resampling import exchange_models
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import ITEMS, Units


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """Compute the first model minus the second, over the questions that both answered.

    Intervals are bootstraps that draw the same templates for both models, widened for few templates; p exchanges the two
    models in random templates.
    """
    answers = clustered_answers(answers, clusters=settings.clusters)
    ours, theirs = (answers.where(model=name).table for name in (first, second))
    for (benchmark, scorer), rows in ours.groupby(["benchmark", "scorer"], sort=False):
        other = theirs[(theirs["benchmark"] == benchmark) & (theirs["scorer"] == scorer)].set_index("item")
        both = rows[rows["item"].isin(other.index)]
        if not len(both):
            continue
        same = other.loc[both["item"]].reset_index()
        asked = {(column, group): part for column, group, part in groups_of(both, answers, by)}
        for measure in measures:
            by_column: dict[str, list[Difference]] = {}
            if not any(set(measure.parameters) <= reads_of(both, column) for column, _ in asked):
                continue
            there = has_answer(both, measure) & has_answer(same, measure)
            if not there.any():
                continue
            parts = (groups_of(side[there], answers, by) for side in (both, same))
            for (column, group, part), (_, _, their_part) in zip(*parts, strict=True):
                if RANKS in measure.parameters or not set(measure.parameters) <= reads_of(both, column):
                    continue
                base = Difference(str(benchmark), "choices", str(scorer), measure.name, column, group, first, second)
                missing = int(about(asked[column, group], measure).sum() - about(part, measure).sum())
                base = replace(base, n_missing=missing)
                by_column.setdefault(column, []).append(_difference(base, (part, their_part), measure, settings))
            for column, of_column in by_column.items():
                yield from of_column if column == "all" else corrected(of_column)


def _difference(base: Difference, pair: tuple[pd.DataFrame, pd.DataFrame], measure: Entry, settings: Settings) -> Difference:
    n = int((counted(pair[0], measure) | counted(pair[1], measure)).sum())
    design = design_of(pair[0])
    columns = [totals_of(side, measure, design) for side in pair]
    values = [float(measure.function(**side)) for side in columns]
    base = replace(
        base, n=n, value=values[0], baseline_value=values[1], difference=values[0] - values[1],
        details={"n_templates": design.n_clusters},
    )  # fmt: skip
    if design.n_clusters < FEWEST_TEMPLATES and not np.isnan(base.difference):
        return replace(base, note=TOO_FEW)
    rng = stream_of(settings, base.benchmark, base.by, base.group)
    weights = design.weights(settings.resamples, rng)
    drawn = [measure.function(**{name: values * weights for name, values in side.items()}) for side in columns]
    units = Units.independent(design.n_clusters, ITEMS)
    ways = exchange_models(
        Design.independent(design.n_clusters),
        (columns[0], columns[1]),
        lambda side: measure.function(**side),
        settings.resamples,
        rng,
    )
    p = permutation_p(base.difference, ways[0], 0.0, is_exact=ways[1])
    return paired_difference(base, values, drawn, measure, settings, p, units)
