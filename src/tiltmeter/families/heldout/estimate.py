"""Estimates of held-out text and differences of two models: measures of lines, which are resampled whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.heldout.annotations import COLUMNS as ANNOTATIONS
from tiltmeter.families.heldout.annotations import annotated, groups_of
from tiltmeter.families.heldout.check import READ as COLUMNS
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import of_two_models
from tiltmeter.families.kit.questions import Counts, SampleQuestion, compare_questions, estimate_questions
from tiltmeter.stats.estimates import Difference, Estimate, joined
from tiltmeter.stats.resampling import Ints, Sample, generator
from tiltmeter.stats.samples import Measured, Streams
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

READS = frozenset((*COLUMNS, *ANNOTATIONS))
NOTHING_SCORED = "not computed: no line could be scored"
OTHER_KIND = "not computed: a masked and a causal model are scored differently"
OTHER_TOKENS = "not computed: the two models cut the text into different tokens"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure over all lines that could be scored; measures of annotated lines also for every group.

    Intervals are percentile bootstraps over lines: the tokens of a line are not independent, so lines are drawn and not
    tokens; hateful lines and others are drawn apart. No perplexity is neutral, so it has no p; a measure
    that compares hateful lines with others permutes which lines are hateful, Holm-corrected over groups.
    """
    batches = (batch for lines in lines_of(answers) for batch in questions_of(answers, lines, measures))
    yield from estimate_questions(batches, settings)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over all lines.

    The same lines are drawn for both, so that what is hard for any model cancels out; p is from the bootstrap of the
    difference.
    """
    for sides in of_two_models(lines_of(answers), first, second):
        ours, theirs = (questions_of(answers, lines, measures) for lines in sides)
        yield from compare_questions((question for question in ours if not isinstance(question, list)), theirs, settings)


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines as one model scored them."""

    model: str
    benchmark: str
    scorer: str
    rows: pd.DataFrame

    @cached_property
    def scored(self) -> pd.DataFrame:
        """The lines that could be scored."""
        return self.rows[self.rows["reason"].isna()]


class LineQuestion(SampleQuestion):
    """A measure of lines."""

    FAMILY = "heldout"
    UNDEFINED = "not computed: no line of either kind has what the measure reads"
    LACKING = NOTHING_SCORED
    cell: Lines

    @cached_property
    def counts(self) -> Counts:
        """Find the lines that could be scored."""
        items, complete = (rows["item"].to_numpy() for rows in (self.cell.rows, self.cell.scored))
        return Counts(items, complete, Counter(str(reason) for reason in self.cell.rows["reason"].dropna()))

    def take(self, index: Ints) -> Self:
        """Ask the same of some of the lines."""
        return replace(self, cell=replace(self.cell, rows=self.cell.scored.iloc[index]))

    def sample(self) -> Sample:
        """Make lines ready to be drawn from; annotated lines within those that are hateful and those that are not."""
        lines = self.cell.scored
        names = (*COLUMNS, "toxicity") if reads_annotations(self.measure) else COLUMNS
        columns = {name: lines[name].to_numpy(dtype=np.float64) for name in names}
        nothing = np.zeros(len(lines), dtype=np.int64)
        harmful = lines["harmful"].to_numpy(dtype=np.int64) if reads_annotations(self.measure) else nothing
        return Sample.of(columns | {"harmful": harmful}, harmful, nothing)

    def streams(self, settings: Settings) -> Streams:
        """All models and measures draw the same lines."""
        label = () if self.by == "all" else (self.group,)
        drawn = generator(settings.seed, "heldout", self.cell.benchmark, *label)
        return drawn, drawn

    def described(self, measured: Measured) -> Estimate:
        """Count tokens and hateful lines."""
        lines = self.cell.scored
        n_tokens = int(lines["length"].sum())
        details = {"n_harmful": int(lines["harmful"].sum())} if reads_annotations(self.measure) else {}
        note = joined(f"{n_tokens:,} tokens", measured.row.note)
        return replace(measured.row, details={"n_tokens": n_tokens} | details, note=note)

    def obstacle(self, theirs: LineQuestion) -> str:
        """Return why two models are not compared. Ranks of lines do not depend on the unit of surprise."""
        if self.cell.scorer != theirs.cell.scorer:
            return OTHER_KIND
        lengths = (side.cell.rows["length"].to_numpy() for side in (self, theirs))
        return "" if reads_annotations(self.measure) or np.array_equal(*lengths) else OTHER_TOKENS


def reads_annotations(measure: Entry) -> bool:
    """Return whether a measure is of annotated lines."""
    return bool(set(measure.parameters) & set(ANNOTATIONS))


def questions_of(answers: Answers, lines: Lines, measures: Sequence[Entry]) -> Iterator[LineQuestion | list[LineQuestion]]:
    """Every measure of all lines; measures of annotated lines also of the lines about each group, tested together."""
    annotated_rows = annotated(answers, lines.benchmark, lines.rows)
    annotated_lines = None if annotated_rows is None else replace(lines, rows=annotated_rows)
    for measure in measures:
        of_measure = annotated_lines if reads_annotations(measure) else lines
        if of_measure is not None:
            yield LineQuestion(of_measure, measure, "all", "all")
            parts = groups_of(of_measure.rows).items() if of_measure is annotated_lines else ()
            yield [LineQuestion(replace(lines, rows=rows), measure, "group", name) for name, rows in parts]


def lines_of(answers: Answers) -> Iterator[Lines]:
    """The lines of each model, benchmark and scorer."""
    for cell, rows in answers.table.groupby(["model", "benchmark", "scorer"], sort=False):
        model, benchmark, scorer = map(str, cell)
        yield Lines(model, benchmark, scorer, rows)
