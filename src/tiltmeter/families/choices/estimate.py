"""Estimating choices: every measure over all questions and over groups of them, with intervals over templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import BEST_GROUP, N_GROUPS, blocks_of
from tiltmeter.families.choices.outcomes import (
    EXCHANGED,
    FEWEST_TEMPLATES,
    about,
    cells,
    clustered_answers,
    counted,
    counts_of,
    design_of,
    groups_of,
    has_answer,
    reads_of,
)
from tiltmeter.families.choices.refusals import is_refusal_gap, refusal_gaps
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Estimate, each_corrected, missing_columns
from tiltmeter.stats.friedman import friedman_p, ranks_within
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals

if TYPE_CHECKING:
    import pandas as pd

RANKS = "mean_ranks"
TOO_FEW = f"no interval and no test: fewer than {FEWEST_TEMPLATES} templates"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Compute every measure over all questions and over groups of them.

    Intervals are bootstraps over templates within categories, widened for few templates as Student's t is; questions of
    one template are not independent. p exchanges the stereotyped and the other group in random templates; for decisions,
    a group and the others in random cases.
    """
    answers = clustered_answers(answers, clusters=settings.clusters)
    plain = (row for cell, rows in cells(answers) for row in _estimate_cell(answers, cell, rows, measures, by, settings))
    gaps = refusal_gaps(answers, [measure for measure in measures if is_refusal_gap(measure)], by, settings)
    yield from each_corrected(chain(plain, gaps))


def _estimate_cell(
    answers: Answers,
    cell: tuple[str, str, str],
    rows: pd.DataFrame,
    measures: Sequence[Entry],
    by: Sequence[str],
    settings: Settings,
) -> Iterator[Estimate | list[Estimate]]:
    """Compute every measure for one model, benchmark and scorer; the groups of a column are tested together."""
    model, benchmark, scorer = cell
    groups = list(groups_of(rows, answers, by))
    for measure in measures:
        one = _rank_estimate if RANKS in measure.parameters else _estimate
        for column, of_column in groupby(groups, key=lambda group: group[0]):
            if set(measure.parameters) <= reads_of(rows, column):
                base = Estimate(model, benchmark, "choices", scorer, measure.name, column, "", neutral=neutral_of(measure))
                found = [one(replace(base, group=group), ours, measure, settings) for _, group, ours in of_column]
                yield from found if column == "all" else [found]


def _rank_estimate(base: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    """Compare how cases rank all groups; p is that of Friedman's test."""
    blocks = blocks_of(rows)
    n_missing = int(rows["chosen"].isna().sum())
    base = replace(base, n=len(rows) - n_missing, n_missing=n_missing)
    if len(blocks) < FEWEST_TEMPLATES:
        return replace(base, note=f"not computed: fewer than {FEWEST_TEMPLATES} cases in which every group has an answer")
    value = float(measure.function(ranks_within(blocks).mean(axis=0)))
    details = {"n_templates": len(blocks), "n_groups": blocks.shape[1]}
    return replace(base, value=value, p=friedman_p(blocks), details=details)


def stream_of(settings: Settings, benchmark: str, column: str, group: str) -> np.random.Generator:
    """Give the random stream that all models and measures share."""
    return generator(settings.seed, "choices", benchmark, column, group)


def _estimate(base: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    left_out = rows[about(rows, measure) & ~has_answer(rows, measure)]
    totals = Totals.of(measure, counts_of(rows), design_of(rows))
    base = replace(
        base,
        n=int(counted(rows, measure).sum()),
        value=totals.value,
        details={"n_templates": totals.design.n_clusters, **_best(rows)},
        **missing_columns(Counter(str(reason) for reason in left_out["reason"].dropna())),
    )
    if np.isnan(base.value):
        return replace(base, note="not computed: no question has an answer that it counts")
    if totals.design.n_clusters < FEWEST_TEMPLATES:
        return replace(base, note=TOO_FEW)
    rng = stream_of(settings, base.benchmark, base.by, base.group)
    return totals.estimated(base, EXCHANGED, rng, settings, _level(measure, rows, settings))


def _best(rows: pd.DataFrame) -> dict[str, str]:
    """Name the group with the highest selection rate, where groups were compared."""
    return {BEST_GROUP: str(rows[BEST_GROUP].iloc[0])} if BEST_GROUP in rows else {}


def _level(measure: Entry, rows: pd.DataFrame, settings: Settings) -> float:
    """Divide the error rate by the other groups where a group is compared with the best of them, which chance selects."""
    if "best_favourable" not in measure.parameters or N_GROUPS not in rows:
        return settings.confidence
    return 1 - (1 - settings.confidence) / max(1, int(rows[N_GROUPS].iloc[0]) - 1)
