"""Estimates of slots and differences of two models: a measure of each group, of gaps, or of whom a sentence is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import of_two_models
from tiltmeter.families.kit.questions import Counts, SampleQuestion, compare_questions, estimate_questions
from tiltmeter.families.slots.fills import CANDIDATES, OWN, Fills, fills_of
from tiltmeter.stats.estimates import Details, Difference, Estimate, details_of, joined
from tiltmeter.stats.measured import stratum_of
from tiltmeter.stats.resampling import Ints, Sample, generator
from tiltmeter.stats.samples import Measured, Streams
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

GAP, AHEAD = " − ", " > "
AMONG_CANDIDATES = "ranked among the listed terms, not among the vocabulary"
RANKED_DIFFERENTLY = "not computed: the two models were ranked differently (another top k, or another kind of model)"
ABOUT_ONE_GROUP = "not computed: sentences with matches by both models are about one group only"
Pair = tuple[str, str | None]
"""A group, or two; where there is none, measures read whom each sentence is about."""


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is group (one group of terms) or gap (one minus another).

    Intervals are percentile bootstraps over sentences within bias types; p of a gap is from the same resamples, of a lean
    from the sign test. Columns in `by` with more than one value are taken apart too ("group × target"). Measures over whom
    a sentence is about have rows `all` and `bias_type`.
    """
    batches = (batch for fills in fills_of(answers, by) for batch in questions_of(fills, measures, by))
    yield from estimate_questions(batches, settings)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the sentences in which both models have what the measure reads.

    The same sentences are drawn for both, so what the models share cancels. p is from the bootstrap of the difference;
    Holm-corrected over the groups, or the gaps, of a measure.
    """
    for ours, theirs in of_two_models(fills_of(answers, by), first, second):
        yield from compare_questions(questions_of(ours, measures, by), questions_of(theirs, measures, by), settings)


@dataclass(frozen=True, eq=False)
class SlotQuestion(SampleQuestion):
    """One measure of one group, of one group minus another, or of whom each sentence is about."""

    FAMILY = "slots"
    UNDEFINED = "undefined: fewer than 2 sentences"

    cell: Fills
    pair: Pair | None

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns that measures read of the sentences that could be filled."""
        filled = self.cell.filled
        return filled.own_columns() if self.pair is None else filled.columns(*self.pair)

    @cached_property
    def has_matches(self) -> NDArray[np.bool_]:
        """The sentences that the measure is about: those with a match, unless it counts the others too."""
        read = [self.columns[name] for name in self.measure.parameters if name != "k"]
        if self.measure.spec.counts_unmatched:
            return np.ones(len(read[0]), dtype=bool)
        return np.asarray(~np.any([np.isnan(values) for values in read], axis=0), dtype=bool)

    @cached_property
    def counts(self) -> Counts:
        """Find the sentences that could be filled and that the measure is about."""
        fills, columns, matched = self.cell, self.columns, self.has_matches
        reasons = Counter(str(reason) for reason in fills.reason if reason is not None)
        reasons.update({f"no match in the top {fills.k}": int((~matched).sum())} if not matched.all() else {})
        n_ties = int((columns["rank"] == columns["other_rank"]).sum()) if "other_rank" in columns else 0
        details: Details = {"top_k": fills.k, "ranked_among": fills.among}
        return Counts(fills.items, fills.filled.items[matched], reasons, n_ties=n_ties, details=details)

    def lacking(self, by_whom: str = "") -> str:
        """Return why nothing can be computed."""
        why = "has a match" if by_whom or len(self.cell.filled) else "could be filled"
        return "" if len(self.counts.complete) else f"not computed: no sentence {why}{by_whom}"

    def take(self, index: Ints) -> Self:
        """Ask the same of some of the sentences."""
        return replace(self, cell=self.cell.filled.take(np.flatnonzero(self.has_matches)[index]))

    def sample(self) -> Sample:
        """Make the sentences ready to be drawn from. Of a mean over two groups, those about the smaller one count."""
        filled, matched = self.cell.filled, self.has_matches
        sample = Sample.of(self.columns, filled.codes(stratum_of(self.measure)), filled.codes("bias_type"))
        of_groups = np.bincount(self.columns["about"][matched], minlength=2) if self.pair is None else [matched.sum()]
        return replace(sample, columns={**sample.columns, "k": np.int64(filled.k)}, counted=int(min(of_groups)))

    def streams(self, settings: Settings) -> Streams:
        """All measures and models draw the same sentences, so common effects cancel out."""
        label = self.cell.benchmark, self.by
        drawn = generator(settings.seed, "slots", *label)
        return drawn, drawn, generator(settings.seed, "exchange", *label, self.group)

    def described(self, measured: Measured) -> Estimate:
        """Say what terms were ranked among, and k, for measures that depend on it."""
        measure = self.measure
        depends = "k" in measure.parameters or measure.spec.counts_unmatched
        about_k = f"among the first {self.cell.k:,} predictions" if depends else ""
        among = AMONG_CANDIDATES if self.cell.among == CANDIDATES else ""
        return replace(measured.row, note=joined(among, measured.row.note, about_k))

    def obstacle(self, theirs: SlotQuestion) -> str:
        """Return why two models cannot be compared."""
        if self.cell.k != theirs.cell.k or self.cell.among != theirs.cell.among:
            return RANKED_DIFFERENTLY
        is_one_sided = self.pair is None and len(self.cell) and self.cell.groups["target"].nunique() < 2
        return ABOUT_ONE_GROUP if is_one_sided else ""


def questions_of(fills: Fills, measures: Sequence[Entry], by: Sequence[str]) -> Iterator[SlotQuestion | list[SlotQuestion]]:
    """All that the measures are estimated of, in lists that are tested together; those of all groups come first."""
    for suffix, name, part in parts_of(fills, by):
        for measure in (measure for measure in measures if not is_own(measure)):
            pairs, sign = pairs_of(part, measure)
            column = f"gap{suffix}" if sign else f"group{suffix}"
            names = [f"{sign.join(filter(None, pair))}{name}" for pair in pairs]
            yield [SlotQuestion(part, measure, column, *about) for about in zip(names, pairs, strict=True)]
    for measure in filter(is_own, measures):
        yield from (SlotQuestion(part, measure, *label, None) for label, part in own_parts(fills))


def is_own(measure: Entry) -> bool:
    """Return whether a measure compares the group that a sentence is about with the others."""
    return set(measure.parameters) <= OWN


def own_parts(fills: Fills) -> Iterator[tuple[tuple[str, str], Fills]]:
    """The sentences about at least two of the groups: all, then those of each bias type, with `by` and `group`."""
    about_a_group = fills.about_a_group()
    types = about_a_group.groups["bias_type"].astype(str)
    parts = [(("all", "all"), about_a_group)]
    for name in sorted(types.unique()):
        parts.append((("bias_type", name), about_a_group.take((types == name).to_numpy())))
    yield from ((label, part) for label, part in parts if part.groups["target"].nunique() == len(part.probability) == 2)


def parts_of(fills: Fills, columns: Sequence[str]) -> Iterator[tuple[str, str, Fills]]:
    """All sentences, then those of each value of each column, with the texts that are added to `by` and `group`."""
    yield "", "", fills
    for column in columns:
        values = sorted(fills.groups[column].dropna().unique()) if column != "all" else []
        for value in values if len(values) > 1 else ():
            yield f" × {column}", f", {value}", fills.take((fills.groups[column] == value).to_numpy())


def pairs_of(fills: Fills, measure: Entry) -> tuple[list[Pair], str]:
    """The groups, or pairs of groups, that a measure is about, and the sign between the names of a pair."""
    groups = list(fills.rank)
    if not any(parameter.startswith("other") for parameter in measure.parameters):
        return [(group, None) for group in groups], ""
    pairs: list[Pair] = list(combinations(groups, 2))
    if not measure.spec.both_ways:
        return pairs, GAP
    return [pair for first, second in pairs for pair in ((first, second), (str(second), first))], AHEAD


def ranked_among_candidates(rows: pd.DataFrame) -> bool:
    """Return whether terms were ranked among the listed terms only, in any of the estimates that have a value."""
    with_value = rows[rows["value"].notna()]
    return any(details_of(row).get("ranked_among") == CANDIDATES for row in with_value.to_dict("records"))
