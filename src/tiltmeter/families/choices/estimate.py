"""Estimating choices: every measure over all questions and over groups of them, with intervals over templates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import BEST_GROUP, N_GROUPS, blocks_of
from tiltmeter.families.choices.outcomes import (
    FEWEST_TEMPLATES,
    Floats,
    about,
    cells,
    clustered_answers,
    counted,
    counts_of,
    design_of,
    exchanged,
    groups_of,
    has_answer,
    reads_of,
)
from tiltmeter.families.choices.refusals import is_refusal_gap, refusal_gaps
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.friedman import friedman_p, ranks_within
from tiltmeter.stats.measured import interval_of, neutral_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p

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
    for (model, benchmark, scorer), rows in cells(answers):
        groups = list(groups_of(rows, answers, by))
        for measure in measures:
            by_column: dict[str, list[Estimate]] = {}
            for column, group, ours in groups:
                if not set(measure.parameters) <= reads_of(rows, column):
                    continue
                base = Estimate(model, benchmark, "choices", scorer, measure.name, column, group)
                one = _rank_estimate if RANKS in measure.parameters else _estimate
                by_column.setdefault(column, []).append(one(base, ours, measure, settings))
            for column, of_column in by_column.items():
                yield from of_column if column == "all" else corrected(of_column)
    yield from refusal_gaps(answers, [measure for measure in measures if is_refusal_gap(measure)], by, settings)


def _rank_estimate(base: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    """Compare how cases rank all groups; p is that of Friedman's test."""
    blocks = blocks_of(rows)
    n_missing = int(rows["chosen"].isna().sum())
    base = replace(base, n=len(rows) - n_missing, n_missing=n_missing, neutral=neutral_of(measure))
    if len(blocks) < FEWEST_TEMPLATES:
        return replace(base, note=f"not computed: fewer than {FEWEST_TEMPLATES} cases in which every group has an answer")
    value = float(measure.function(ranks_within(blocks).mean(axis=0)))
    details = {"n_templates": len(blocks), "n_groups": blocks.shape[1]}
    return replace(base, value=value, p=friedman_p(blocks), details=details)


def stream_of(settings: Settings, benchmark: str, column: str, group: str) -> np.random.Generator:
    """Give the random stream that all models and measures share."""
    return generator(settings.seed, "choices", benchmark, column, group)


def totals_of(rows: pd.DataFrame, measure: Entry, design: Design) -> dict[str, Floats]:
    """Add up what a measure reads within templates."""
    counts = counts_of(rows)
    return design.totals({name: counts[name] for name in measure.parameters})


def _estimate(base: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    left_out = rows[about(rows, measure) & ~has_answer(rows, measure)]
    missing = Counter(str(reason) for reason in left_out["reason"].dropna())
    design = design_of(rows)
    columns = totals_of(rows, measure, design)
    value = float(measure.function(**columns))
    base = replace(
        base,
        n=int(counted(rows, measure).sum()),
        n_missing=missing.total(),
        value=value,
        neutral=neutral_of(measure),
        missing=json.dumps(dict(missing)) if missing else "",
        details={"n_templates": design.n_clusters, **_best(rows)},
    )
    if np.isnan(value):
        return replace(base, note="not computed: no question has an answer that it counts")
    if design.n_clusters < FEWEST_TEMPLATES:
        return replace(base, note=TOO_FEW)
    rng = stream_of(settings, base.benchmark, base.by, base.group)
    weights = design.weights(settings.resamples, rng)
    draws = np.asarray(measure.function(**{name: values * weights for name, values in columns.items()}), dtype=np.float64)
    low, high, note = interval_of(measure, design.n_clusters, value, draws, _for_selection(measure, rows, settings))
    return replace(base, low=low, high=high, p=_p(measure, columns, value, design, rng, settings), note=note)


def _best(rows: pd.DataFrame) -> dict[str, str]:
    """Name the group with the highest selection rate, where groups were compared."""
    return {BEST_GROUP: str(rows[BEST_GROUP].iloc[0])} if BEST_GROUP in rows else {}


def _for_selection(measure: Entry, rows: pd.DataFrame, settings: Settings) -> Settings:
    """Divide the error rate by the other groups where a group is compared with the best of them, which chance selects."""
    if "best_favourable" not in measure.parameters or N_GROUPS not in rows:
        return settings
    others = max(1, int(rows[N_GROUPS].iloc[0]) - 1)
    return replace(settings, confidence=1 - (1 - settings.confidence) / others)


def _p(
    measure: Entry, columns: dict[str, Floats], value: float, design: Design, rng: np.random.Generator, settings: Settings
) -> float:
    """Test that exchanging the two groups changes nothing; exact for few templates."""
    neutral = neutral_of(measure)
    if np.isnan(neutral):
        return neutral
    ways, is_exact = design.flip(settings.resamples, rng)
    draws = np.concatenate([np.asarray(measure.function(**exchanged(columns, flips)), dtype=np.float64) for flips in ways])
    return permutation_p(value, draws, neutral, is_exact=is_exact)
