"""Estimands: each measure of all texts, of a group, of a domain, or of texts and their counterfactuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.labels.facts import Bools, Facts, Floats, Ints
from tiltmeter.stats.estimates import Details
from tiltmeter.stats.seeds import SeededRows

READS = frozenset({"truth", "called", "score", "member", "members", "other_called", "weight"})
"""Inputs of measures of labels: the label, whether a text is called toxic, its probability, who is named, and weights."""
HALF, EQUAL, PROBABILITY, NAMED = "at 0.5", "at equal fpr", "probability", "probability, named"
"""How probabilities are read: at the threshold of the paper; at each model's threshold with an overall false-positive rate
of 10 %; as they are; and as they are, among texts that name a group (as HateXplain's authors do)."""
EQUAL_RATE = 0.1
MOST_NAMED = 10
CURVE = tuple(round(0.05 * n, 2) for n in range(1, 20))
ARROW = " → "


Place = tuple[str, str, str]
"""How texts are read, and the column and group that a number is about."""


@dataclass(frozen=True)
class Question(SeededRows):
    """One measure of some texts, and its place in the tables. `lacking`: why there is no estimate."""

    facts: Facts
    scorer: str
    by: str
    group: str
    n: int
    lacking: str
    curve: bool = False
    details: Details = field(default_factory=dict)

    @classmethod
    def of(
        cls, facts: Facts, measure: Entry, place: Place, rows: Ints, values: Floats, counted: tuple[int, str], **of: Bools
    ) -> Question:
        """Ask for a measure of some rows of all texts.

        Args:
            facts: All texts.
            measure: The measure.
            place: Its place in the tables.
            rows: The texts that it is about.
            values: How all texts are called, or scored.
            counted: The number of texts, and why there is no estimate.
            of: The member or members that the measure reads.
        """
        name = "called" if "called" in measure.parameters else "score"
        fixed = {key: array[..., rows] for key, array in ({"truth": facts.truth} | of).items()}
        return cls(measure, facts.clusters[rows], {name: values[:, rows]}, fixed, facts, *place, *counted)

    def about(self, measure: Entry, side: Bools) -> Question:
        """Ask for another measure of some of these texts."""
        varying, fixed = (
            {name: values[..., side] for name, values in columns.items()} for columns in (self.varying, self.fixed)
        )
        return replace(self, measure=measure, cluster=self.cluster[side], varying=varying, fixed=fixed, n=int(side.sum()))


def called_of(facts: Facts) -> dict[str, Floats]:
    """Mark the texts that each seed calls toxic, by both thresholds: seeds × texts, 0 or 1."""
    fine = facts.score[:, ~facts.truth]
    called = {HALF: (facts.score >= 0.5).astype(np.float64)}
    if fine.shape[1]:
        threshold = np.quantile(fine, 1 - EQUAL_RATE, axis=1, method="higher")[:, None]
        called[EQUAL] = (facts.score > threshold).astype(np.float64)
    return called


def questions(facts: Facts, measures: Sequence[Entry], by: Sequence[str]) -> Iterator[Question]:
    """All that these measures can say about these texts."""
    called = called_of(facts)
    for measure in measures:
        reads = set(measure.parameters)
        if "other_called" in reads:
            yield from _swaps(facts, measure)
        elif "members" in reads and "score" in reads:
            yield from _all_groups(facts, measure)
        elif "members" in reads:
            yield from (one for scorer in called for one in _domains(facts, measure, scorer, called[scorer]))
            if measure.spec.by_threshold:
                yield from _curve(facts, measure)
        elif "member" in reads:
            yield from _groups(facts, measure, called)
        else:
            yield from _plain(facts, measure, called, by)


def _plain(facts: Facts, measure: Entry, called: Mapping[str, Floats], by: Sequence[str]) -> Iterator[Question]:
    """All texts; for rates also the texts of each group; and the texts of each value of a column."""
    places = [("all", "all", np.arange(len(facts.truth)))]
    for column in by:
        given = facts.columns.get(column, ())
        places += [
            (column, str(one), np.array([n for n, value in enumerate(given) if value == one], dtype=np.int64))
            for one in sorted({value for value in given if value is not None})
        ]
    if measure.spec.among:
        places += [("group", group, np.flatnonzero(member)) for group, member in facts.members.items()]
    for scorer, values in _read(facts, measure, called).items():
        for place, group, rows in places:
            counted = _counted(facts, measure, rows)
            yield Question.of(facts, measure, (scorer, place, group), rows, values, counted)


def _groups(facts: Facts, measure: Entry, called: Mapping[str, Floats]) -> Iterator[Question]:
    """A group against the background: all other texts; for areas also those that name another group."""
    rows, naming = _among(facts, measure, np.arange(len(facts.truth))), _naming(facts)
    for scorer, values in _read(facts, measure, called).items():
        for group, member in facts.members.items():
            counted = _counted(facts, measure, np.flatnonzero(member))
            yield Question.of(facts, measure, (scorer, "group", group), rows, values, counted, member=member)
            if "called" not in measure.parameters and naming is not None:
                yield Question.of(facts, measure, (NAMED, "group", group), naming, values, counted, member=member)


def _all_groups(facts: Facts, measure: Entry) -> Iterator[Question]:
    """A mean over groups; among the texts that name one, over the ten that are named most."""
    everything, sizes = np.arange(len(facts.truth)), {group: int(member.sum()) for group, member in facts.members.items()}
    most = sorted(sizes, key=lambda group: -sizes[group])[:MOST_NAMED]
    named = [group for group, size in sizes.items() if size]
    for scorer, rows, groups in ((PROBABILITY, everything, named), (NAMED, _naming(facts), most)):
        if rows is not None and groups:
            place, members = (scorer, "all", "all"), _matrix(facts, groups)
            yield Question.of(facts, measure, place, rows, facts.score, (len(rows), ""), members=members)


def _domains(
    facts: Facts, measure: Entry, scorer: str, values: Floats, threshold: float | None = None
) -> Iterator[Question]:
    """The spread over the groups of each domain; with a threshold, as one point of a curve."""
    curve = threshold is not None
    for domain, groups in facts.domains.items():
        members = _matrix(facts, groups)
        rows = np.flatnonzero(members.any(axis=0))
        with_rate = int((members & ~facts.truth).any(axis=1).sum())
        lacking = "" if with_rate > 1 else f"not computed: {with_rate} group(s) of {domain} have texts that are not toxic"
        place = (scorer, "threshold", f"{domain} {scorer}") if curve else (scorer, "domain", domain)
        counted, details = (int((~facts.truth[rows]).sum()), lacking), dict[str, Any](n_groups=with_rate)
        asked = Question.of(facts, measure, place, rows, values, counted, members=members)
        if threshold is not None:
            details |= {"domain": domain, "threshold": threshold}
        yield replace(asked, curve=curve, details=details)


def _curve(facts: Facts, measure: Entry) -> Iterator[Question]:
    for threshold in CURVE:
        called = (facts.score >= threshold).astype(np.float64)
        yield from _domains(facts, measure, f"at {threshold:g}", called, threshold)


def _swaps(facts: Facts, measure: Entry) -> Iterator[Question]:
    """Texts of a group as they are, and about another group: one to one, and about all others together."""
    if facts.swaps is None:
        return
    place = {item: n for n, item in enumerate(facts.items)}
    table = facts.swaps[facts.swaps["item"].isin(place)]
    pairs = [
        ("swap", f"{group}{ARROW}{other}", part) for (group, other), part in table.groupby(["group", "other"], sort=False)
    ]
    groups = [("swapped group", str(group), part) for group, part in table.groupby("group", sort=False)]
    for by, name, part in [("all", "all", table), *groups, *pairs]:
        wide = part.pivot(index=["item", "other"], columns="seed", values="probability").dropna()
        rows = np.array([place[item] for item, _ in wide.index], dtype=np.int64)
        other = (wide.to_numpy(dtype=np.float64).T >= 0.5).astype(np.float64)
        own = (facts.score[:, rows] >= 0.5).astype(np.float64)
        lacking = "" if len(rows) else "not computed: no text has words of our lists that could be exchanged"
        varying = {"called": own, "other_called": other if len(rows) else own}
        yield Question(measure, facts.clusters[rows], varying, {}, facts, HALF, by, name, len(rows), lacking)


def _read(facts: Facts, measure: Entry, called: Mapping[str, Floats]) -> Mapping[str, Floats]:
    return called if "called" in measure.parameters else {PROBABILITY: facts.score}


def _naming(facts: Facts) -> Ints | None:
    """The texts that name any group; nothing where that is all or none of them."""
    anyone = np.any(list(facts.members.values()), axis=0) if facts.members else np.zeros(len(facts.truth), dtype=bool)
    return np.flatnonzero(anyone) if anyone.any() and not anyone.all() else None


def _matrix(facts: Facts, groups: Sequence[str]) -> Bools:
    return np.stack([facts.members[group] for group in groups])


def _among(facts: Facts, measure: Entry, rows: Ints) -> Ints:
    """The texts that a rate is about."""
    among = measure.spec.among
    if not among:
        return rows
    return np.asarray(rows[facts.truth[rows] == (among == "toxic")], dtype=np.int64)


def _counted(facts: Facts, measure: Entry, rows: Ints) -> tuple[int, str]:
    """Count the texts of an estimate, and say why there is none."""
    if among := measure.spec.among:
        n = len(_among(facts, measure, rows))
        if not len(rows):
            return n, "not computed: no text names it"
        return n, "" if n else f"not computed: no text of these is {among}"
    if "score" not in measure.parameters:
        return len(rows), "" if len(rows) else "not computed: no text"
    toxic = int(facts.truth[rows].sum())
    both = 0 < toxic < len(rows)
    if "member" in measure.parameters:
        both = len(rows) > 0
    return len(rows), "" if both else "not computed: texts of both labels are needed"
