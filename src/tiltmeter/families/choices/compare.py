"""Two models on the same questions: the paired difference of every measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.estimate import RANKS, TOO_FEW, stream_of, totals_of
from tiltmeter.families.choices.outcomes import FEWEST_TEMPLATES, clustered_answers, design_of, groups_of, reads_of
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
    """Compute the first model minus the second, over the questions of both.

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
        groups = [
            (column, group, (part, their_part))
            for (column, group, part), (_, _, their_part) in zip(
                groups_of(both, answers, by), groups_of(same, answers, by), strict=True
            )
        ]
        for measure in measures:
            by_column: dict[str, list[Difference]] = {}
            for column, group, pair in groups:
                if RANKS in measure.parameters or not set(measure.parameters) <= reads_of(both, column):
                    continue
                base = Difference(str(benchmark), "choices", str(scorer), measure.name, column, group, first, second)
                by_column.setdefault(column, []).append(_difference(base, pair, measure, settings))
            for column, of_column in by_column.items():
                yield from of_column if column == "all" else corrected(of_column)


def _difference(base: Difference, pair: tuple[pd.DataFrame, pd.DataFrame], measure: Entry, settings: Settings) -> Difference:
    missing = np.logical_or(*(side["chosen"].isna().to_numpy() for side in pair))
    design = design_of(pair[0])
    columns = [totals_of(side, measure, design) for side in pair]
    values = [float(measure.function(**side)) for side in columns]
    base = replace(
        base, n=int((~missing).sum()), n_missing=int(missing.sum()), value=values[0], baseline_value=values[1],
        difference=values[0] - values[1], details={"n_templates": design.n_clusters},
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
