"""Estimating choices and differences of two models: measures of all questions and of groups, resampled by template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import BEST_GROUP, N_GROUPS, blocks_of
from tiltmeter.families.choices.outcomes import (
    EXCHANGED,
    FEWEST_TEMPLATES,
    Floats,
    Replies,
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
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.families.kit.questions import Question, compare_questions, estimate_questions
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Difference, Estimate, each_corrected, missing_columns
from tiltmeter.stats.friedman import friedman_p, ranks_within
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals, compare_totals

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
    for cell in cells(answers):
        yield from estimate_questions(questions_of(cell, measures, answers, by), settings)
    gaps = refusal_gaps(answers, [measure for measure in measures if is_refusal_gap(measure)], by, settings)
    yield from each_corrected(gaps)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """Compute the first model minus the second, over the questions that both answered.

    Intervals are bootstraps that draw the same templates for both models, widened for few templates; p exchanges the two
    models in random templates.
    """
    answers = clustered_answers(answers, clusters=settings.clusters)
    for sides in of_two_models(cells(answers), first, second, lambda cell: (cell.benchmark, cell.scorer)):
        both = _on_common_rows(*sides)
        groups = {(column, group): rows for column, group, rows in groups_of(both[0].rows, answers, by)}
        for measure in (one for one in measures if any(_applies(one, both[0], column) for column, _ in groups)):
            there = np.all([has_answer(cell.rows, measure) for cell in both], axis=0)
            if there.any() and RANKS not in measure.parameters:
                answered = (replace(cell, rows=cell.rows[there], groups=groups) for cell in both)
                ours, theirs = (questions_of(cell, [measure], answers, by) for cell in answered)
                yield from compare_questions(ours, theirs, settings)


def _on_common_rows(*sides: Replies) -> list[Replies]:
    """The questions that both models have answers to, in the order of the first."""
    places = common_places(*(cell.rows["item"].array for cell in sides))
    return [replace(cell, rows=cell.rows.iloc[at]) for cell, at in zip(sides, places, strict=True)]


class ChoiceQuestion(Question):
    """One measure of the questions, decisions or lists of words of one group."""

    FAMILY = "choices"
    UNDEFINED = "not computed: no question has an answer that it counts"
    cell: Replies

    @cached_property
    def totals(self) -> Totals:
        """Sums of what the measure reads within templates."""
        return Totals.of(self.measure, counts_of(self.cell.rows), design_of(self.cell.rows))

    @property
    def has_few_templates(self) -> bool:
        """Return whether there are too few templates for an interval and a test."""
        return self.totals.design.n_clusters < FEWEST_TEMPLATES

    @property
    def counted(self) -> dict[str, Any]:
        """Count the questions that the value is made of, and those without what the measure reads."""
        rows, measure = self.cell.rows, self.measure
        left_out = rows[about(rows, measure) & ~has_answer(rows, measure)]
        missing = missing_columns(Counter(str(reason) for reason in left_out["reason"].dropna()))
        details = {"n_templates": self.totals.design.n_clusters, **_best(rows)}
        return {"n": int(counted(rows, measure).sum()), "details": details, **missing}

    def in_common(self, theirs: ChoiceQuestion) -> tuple[Self, ChoiceQuestion, dict[str, Any]]:
        """Both are about the questions that both models answered."""
        measure, (ours, others) = self.measure, (side.cell.rows for side in (self, theirs))
        n = int((counted(ours, measure) | counted(others, measure)).sum())
        n_missing = int(about(self.cell.groups[self.by, self.group], measure).sum() - about(ours, measure).sum())
        return self, theirs, {"n": n, "n_missing": n_missing, "details": {"n_templates": self.totals.design.n_clusters}}

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Resample templates for the interval, and exchange two groups in random ones for p."""
        row, totals = replace(self.blank, value=self.totals.value), self.totals
        if np.isnan(row.value):
            return [Measured(row)]
        if self.has_few_templates:
            return [Measured(replace(row, note=TOO_FEW))]
        level = _level(self.measure, self.cell.rows, settings)
        return [Measured(totals.estimated(row, EXCHANGED, self._stream(settings), settings, level))]

    def compared(self, row: Difference, theirs: ChoiceQuestion, settings: Settings) -> Difference:
        """Draw the same templates for both models, and exchange the models in random ones."""
        values = self.totals.value, theirs.totals.value
        if self.has_few_templates and not np.isnan(values).any():
            difference = values[0] - values[1]
            return replace(row, value=values[0], baseline_value=values[1], difference=difference, note=TOO_FEW)
        return compare_totals(row, self.totals, theirs.totals, self._stream(settings), settings)

    def _stream(self, settings: Settings) -> np.random.Generator:
        """Give the random stream that all models and measures share."""
        return generator(settings.seed, "choices", self.cell.benchmark, self.by, self.group)


class RankQuestion(ChoiceQuestion):
    """One measure of how cases rank all groups."""

    @cached_property
    def blocks(self) -> Floats:
        """The cases in which every group has an answer."""
        return blocks_of(self.cell.rows)

    @property
    def counted(self) -> dict[str, Any]:
        """Count the decisions."""
        n_missing = int(self.cell.rows["chosen"].isna().sum())
        return {"n": len(self.cell.rows) - n_missing, "n_missing": n_missing}

    def lacking(self, by_whom: str = "") -> str:
        """Return why there is no estimate: too few cases."""
        few = f"not computed: fewer than {FEWEST_TEMPLATES} cases in which every group has an answer"
        return few if len(self.blocks) < FEWEST_TEMPLATES else ""

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Compute p by Friedman's test."""
        value = float(self.measure.function(ranks_within(self.blocks).mean(axis=0)))
        details = {"n_templates": len(self.blocks), "n_groups": self.blocks.shape[1]}
        return [Measured(replace(self.blank, value=value, p=friedman_p(self.blocks), details=details))]


def questions_of(
    cell: Replies, measures: Sequence[Entry], answers: Answers, by: Sequence[str]
) -> Iterator[ChoiceQuestion | list[ChoiceQuestion]]:
    """Every measure of all questions, and of the groups of each column, which are tested together."""
    groups = list(groups_of(cell.rows, answers, by))
    for measure in measures:
        kind = RankQuestion if RANKS in measure.parameters else ChoiceQuestion
        for column, of_column in groupby(groups, key=lambda group: group[0]):
            if _applies(measure, cell, column):
                together = [kind(replace(cell, rows=rows), measure, column, group) for _, group, rows in of_column]
                yield from together if column == "all" else [together]


def _applies(measure: Entry, cell: Replies, column: str) -> bool:
    """Return whether answers that are grouped by a column have what a measure reads."""
    return set(measure.parameters) <= reads_of(cell.rows, column)


def _best(rows: pd.DataFrame) -> dict[str, str]:
    """Name the group with the highest selection rate, where groups were compared."""
    return {BEST_GROUP: str(rows[BEST_GROUP].iloc[0])} if BEST_GROUP in rows else {}


def _level(measure: Entry, rows: pd.DataFrame, settings: Settings) -> float:
    """Divide the error rate by the other groups where a group is compared with the best of them, which chance selects."""
    if "best_favourable" not in measure.parameters or N_GROUPS not in rows:
        return settings.confidence
    return 1 - (1 - settings.confidence) / max(1, int(rows[N_GROUPS].iloc[0]) - 1)
