"""Questions about slots: a measure of each group, of each gap between two groups, or of whom a sentence is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.slots.fills import OWN, Fills
from tiltmeter.stats.measured import stratum_of
from tiltmeter.stats.resampling import Sample

GAP, AHEAD = " − ", " > "
Pair = tuple[str, str | None]
"""A group, or two; where there is none, measures read whom each sentence is about."""


@dataclass(frozen=True)
class Question:
    """One measure of one group, of one group minus another, or of whom each sentence is about."""

    fills: Fills
    measure: Entry
    pair: Pair | None
    by: str
    group: str

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns that measures read of the sentences that could be filled."""
        filled = self.fills.filled
        return filled.own_columns() if self.pair is None else filled.columns(*self.pair)

    @property
    def has_matches(self) -> NDArray[np.bool_]:
        """The sentences that the measure is about: those with a match, unless it counts the others too."""
        read = [self.columns[name] for name in self.measure.parameters if name != "k"]
        if self.measure.spec.counts_unmatched:
            return np.ones(len(read[0]), dtype=bool)
        return np.asarray(~np.any([np.isnan(values) for values in read], axis=0), dtype=bool)

    @property
    def sample(self) -> Sample:
        """The sentences in the order of their strata, ready to be drawn from."""
        filled = self.fills.filled
        sample = Sample.of(self.columns, filled.codes(stratum_of(self.measure)), filled.codes("bias_type"))
        return replace(sample, columns={**sample.columns, "k": np.int64(self.fills.k)})


def questions_of(fills: Fills, measures: Sequence[Entry], by: Sequence[str]) -> Iterator[list[Question]]:
    """All that the measures are estimated of, in lists that are tested together; those of all groups come first."""
    for suffix, name, part in parts_of(fills, by):
        for measure in (measure for measure in measures if not is_own(measure)):
            pairs, sign = pairs_of(part, measure)
            column = f"gap{suffix}" if sign else f"group{suffix}"
            yield [Question(part, measure, pair, column, f"{sign.join(filter(None, pair))}{name}") for pair in pairs]
    for measure in filter(is_own, measures):
        yield from ([Question(part, measure, None, *label)] for label, part in own_parts(fills))


def is_own(measure: Entry) -> bool:
    """Return whether a measure compares the group that a sentence is about with the others."""
    return set(measure.parameters) <= OWN


def own_parts(fills: Fills) -> Iterator[tuple[tuple[str, str], Fills]]:
    """The sentences about at least two of the groups: all, then those of each bias type, with `by` and `group`."""
    known = fills.about_a_group()
    types = known.groups["bias_type"].astype(str)
    parts = [(("all", "all"), known)]
    parts += [(("bias_type", name), known.take((types == name).to_numpy())) for name in sorted(types.unique())]
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
