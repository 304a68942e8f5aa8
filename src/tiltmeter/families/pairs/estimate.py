"""Estimates of pairs and differences of two models: measures of sentence scores, of all pairs and of groups of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.families.kit.questions import Batch, Counts, SampleQuestion, compare_questions, estimate_questions
from tiltmeter.families.pairs.occupations import by_occupation, is_of_occupations
from tiltmeter.families.pairs.paired import SIDES, UNITS, Paired, pair_up
from tiltmeter.stats.estimates import Difference, Estimate, joined
from tiltmeter.stats.measured import neutral_of, strata_of
from tiltmeter.stats.resampling import Floats, Ints, Sample, generator
from tiltmeter.stats.samples import Measured, Streams
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.spread import estimate_spread

NOTHING_COMPLETE = "not computed: no pair has all its scores"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model, benchmark and scorer: overall and per group of the columns in `by`.

    Intervals are percentile bootstraps over items, paired, stratified by bias type (measures over targets: by target).
    p: exact binomial for bias_score, else exchanging the two sentences of random pairs; Holm-corrected over groups.
    Measures of occupations resample occupations; p of r and the slope is from permuting them;
    p of the stereotype rate is from its bootstrap.
    """
    pairs = pair_up(answers, [*by, *strata_of(measures)], settings.clusters)
    yield from estimate_questions(
        (batch for paired in pairs for batch in _batches(paired, measures, by, settings)), settings
    )


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the items that both have scores for.

    The same items are drawn for both, so what the models share cancels. p: exact McNemar test for bias_score (over the
    pairs on which the two disagree), else from the bootstrap of the difference; Holm-corrected over groups.
    """
    pairs = pair_up(answers, [*by, *strata_of(measures)], settings.clusters)
    for sides in of_two_models(pairs, first, second, lambda paired: (paired.benchmark, paired.scorer)):
        for measure in measures:
            # An occupation is a mean over sentences: over those that both have scores for.
            ours, theirs = with_common_scores(*sides) if is_of_occupations(measure) else sides
            our_questions, their_questions = (questions_of(paired, [measure], by, ours) for paired in (ours, theirs))
            yield from compare_questions(our_questions, their_questions, settings)


class PairQuestion(SampleQuestion):
    """A measure of the pairs of one group by one scorer, or of the occupations that they are about."""

    FAMILY = "pairs"
    UNDEFINED = "undefined: fewer than 2 pairs, or all scores of a side are equal"
    LACKING = NOTHING_COMPLETE
    cell: Paired

    @cached_property
    def counts(self) -> Counts:
        """Find the pairs with all scores and labels that the measure reads."""
        complete, missing = self._complete
        scores = complete.scores
        n_ties = int((scores["stereo"] == scores["anti"]).sum()) if set(SIDES) <= set(scores) else 0
        return Counts(
            self._part.labels.items, complete.labels.items, missing, complete.labels.key, n_ties, complete.cluster_details
        )

    @cached_property
    def _part(self) -> Paired:
        part = self.cell if self.by == "all" else self.cell.take(self.cell.labels.where(self.by, self.group))
        return by_occupation(part) if is_of_occupations(self.measure) else part

    @cached_property
    def _complete(self) -> tuple[Paired, Counter[str]]:
        return self._part.complete_for(self.measure)

    def take(self, index: Ints) -> Self:
        """Ask the same of some of the pairs."""
        return replace(self, cell=self._complete[0].take(index))

    def sample(self) -> Sample:
        """Make the items ready to be drawn from; a model without a lean could exchange the two sides."""
        sample = self._complete[0].sample_for(self.measure)
        return replace(sample, sides=UNITS if is_of_occupations(self.measure) else SIDES)

    def streams(self, settings: Settings) -> Streams:
        """All models and scorers draw the same items."""
        label = (self.cell.benchmark, self.by, self.group, self.measure.name)
        return [generator(settings.seed, name, *label) for name in ("bootstrap", "swap", "exchange")]

    def described(self, measured: Measured) -> Estimate:
        """Say where a one-sided measure is neutral, and which parts of a weighted one are undefined."""
        row = measured.row
        equal = (
            "both score distributions are the same" if self.measure.spec.is_one_sided and row.value == row.neutral else ""
        )
        return replace(row, note=joined(equal, row.note, self._left_out(measured.parts)))

    def _left_out(self, of_parts: Floats) -> str:
        """A note with the bias types for which a weighted measure is undefined."""
        if not np.isnan(of_parts).any():
            return ""
        types = np.array(self._complete[0].labels.names("bias_type"))
        return f"left out as undefined: {', '.join(types[np.isnan(of_parts)])}"


def questions_of(
    paired: Paired, measures: Sequence[Entry], by: Sequence[str], grouped: Paired | None = None
) -> Iterator[PairQuestion | list[PairQuestion]]:
    """Every measure that there are scores for: overall, then for the groups of each column, which are tested together.

    `grouped`: the answers whose groups these are, if others.
    """
    labels = (grouped or paired).labels
    for measure in (measure for measure in measures if paired.supports(measure)):
        yield PairQuestion(paired, measure, "all", "all")
        for column in by:
            names = [] if column == "all" else labels.names(column)
            yield [PairQuestion(paired, measure, column, name) for name in names]


def _batches(paired: Paired, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Batch]:
    """Every question about one model, benchmark and scorer, and the variances of a measure over groups."""
    for measure in measures:
        yield from questions_of(paired, [measure], by)
        for column, within in measure.spec.variance_over.items():
            if column in by and paired.supports(measure):
                yield from _variances(paired, measure, column, within, settings)


def _variances(paired: Paired, measure: Entry, column: str, within: str, settings: Settings) -> Iterator[Estimate]:
    """Variance of a measure over the groups of each bias type, as Cao et al. (2022) score a domain."""
    variance = catalog.find("measures", "group_variance")
    complete, _ = paired.complete_for(measure)
    columns = {name: complete.scores[name][:, None] for name in measure.parameters}
    per_item = np.asarray(measure.function(**columns), dtype=np.float64)
    place = (paired.model, paired.benchmark, "pairs", paired.scorer, variance.name, within)
    for name in sorted(complete.groups[within].unique()):
        at = ((complete.groups[within] == name) & complete.groups[column].notna()).to_numpy()
        row = Estimate(*place, name, n=int(at.sum()), neutral=neutral_of(variance))
        rng = generator(settings.seed, "domain", paired.benchmark, name)
        yield estimate_spread(row, variance, per_item[at], complete.groups[column][at].to_numpy(), rng, settings)


def with_common_scores(ours: Paired, theirs: Paired) -> tuple[Paired, Paired]:
    """Both without the scores of the items that either model lacks a score of."""
    here, there = common_places(ours.labels.items, theirs.labels.items)
    ours, theirs = ours.take(here), theirs.take(there)
    is_lost = np.any([np.isnan(paired.scores[side]) for paired in (ours, theirs) for side in SIDES], axis=0)
    ours, theirs = (
        replace(paired, scores={name: np.where(is_lost, np.nan, values) for name, values in paired.scores.items()})
        for paired in (ours, theirs)
    )
    return ours, theirs
