"""Estimates of labels, and differences of two models: all texts, groups, domains and counterfactuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.families.kit.questions import compare_questions, estimate_questions
from tiltmeter.families.labels.facts import Bools, Facts, Floats, Ints, facts_of
from tiltmeter.families.labels.questions import CELLS, LabelQuestion
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.seeds import SeededRows
from tiltmeter.stats.settings import Settings

READS = frozenset({"truth", "called", "score", "member", "members", "other_called", "weight"})
"""Inputs of measures of labels: the label, whether a text is called toxic, its probability, who is named, and weights."""
HALF, EQUAL, PROBABILITY, NAMED = "at 0.5", "at equal fpr", "probability", "probability, named"
"""How probabilities are read: at the threshold of the paper; at each model's threshold with an overall false-positive rate
of 10 %; as they are; and as they are, among texts that name a group (as HateXplain's authors do)."""
EQUAL_RATE = 0.1
MOST_NAMED = 10
THRESHOLDS = tuple(round(0.05 * n, 2) for n in range(1, 20))
ARROW = " → "


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is all, group, domain, threshold, swap, or a column of yours.

    The value is the mean over seeds. Intervals draw texts (clusters of texts where they belong together) and seeds, at two
    levels; notes say which part of the variance is that of the seeds. p of gaps and of domain scores: who is called toxic
    is permuted at random among texts of the same label (in clusters: whole clusters, with rates in standard errors);
    Holm-corrected over the groups, or domains, of a measure.
    """
    for facts in facts_of(answers, _extra_columns(by), settings.clusters):
        yield from estimate_questions(_batches(questions(facts, measures, by), _draws(facts, settings)), settings)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the texts that both label.

    The same texts are drawn for both, and each model's own seeds. p is from the bootstrap of the difference; Holm-corrected
    over the groups, or domains, of a measure.
    """
    for sides in of_two_models(facts_of(answers, _extra_columns(by), settings.clusters), first, second):
        both = aligned(*sides)
        draws, together = _draws(both[0], settings), [questions(facts, measures, by) for facts in both]
        ours, theirs = (_batches((one for one in of_model if not one.is_point), draws) for of_model in together)
        yield from compare_questions(ours, theirs, settings)


def aligned(ours: Facts, theirs: Facts) -> tuple[Facts, Facts]:
    """Both on the texts that both have, in the order of the first."""
    here, there = common_places(ours.items, theirs.items)
    return ours.take(here), theirs.take(there)


def _batches(each: Iterator[LabelQuestion], draws: Sequence[Floats]) -> Iterator[list[LabelQuestion]]:
    """The groups, or domains, of a measure, which are tested together, with the draws of texts."""
    for _, together in groupby(each, key=lambda question: question.subject[:-1]):
        yield [replace(question, draws=draws) for question in together]


def _extra_columns(by: Sequence[str]) -> list[str]:
    """Columns of the user's; those that every benchmark has are about pairs."""
    return [column for column in by if column not in (*GROUP_COLUMNS, "all")]


def _draws(facts: Facts, settings: Settings) -> list[Floats]:
    """Count each cluster of texts in each draw, some draws at a time; equal for all models of a benchmark."""
    if not len(facts.clusters):
        return []
    design, rng = Design.clustered(facts.clusters), generator(settings.seed, "labels", facts.benchmark)
    return list(design.bootstrap(settings.resamples, rng, CELLS * design.n_clusters // len(facts.clusters)))


def called_of(facts: Facts) -> dict[str, Floats]:
    """Mark the texts that each seed calls toxic, by both thresholds: seeds × texts, 0 or 1."""
    fine = facts.score[:, ~facts.truth]
    called = {HALF: (facts.score >= 0.5).astype(np.float64)}
    if fine.shape[1]:
        threshold = np.quantile(fine, 1 - EQUAL_RATE, axis=1, method="higher")[:, None]
        called[EQUAL] = (facts.score > threshold).astype(np.float64)
    return called


def questions(facts: Facts, measures: Sequence[Entry], by: Sequence[str]) -> Iterator[LabelQuestion]:
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
            for threshold in THRESHOLDS if measure.spec.by_threshold else ():
                at_threshold = (facts.score >= threshold).astype(np.float64)
                yield from _domains(facts, measure, f"at {threshold:g}", at_threshold, threshold)
        elif "member" in reads:
            yield from _groups(facts, measure, called)
        else:
            yield from _plain(facts, measure, called, by)


def _plain(facts: Facts, measure: Entry, called: Mapping[str, Floats], by: Sequence[str]) -> Iterator[LabelQuestion]:
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
            yield LabelQuestion.of(facts, measure, (scorer, place, group), rows, values, counted)


def _groups(facts: Facts, measure: Entry, called: Mapping[str, Floats]) -> Iterator[LabelQuestion]:
    """A group against the background: all other texts; for areas also those that name another group."""
    rows, naming = _among(facts, measure, np.arange(len(facts.truth))), _naming(facts)
    for scorer, values in _read(facts, measure, called).items():
        for group, member in facts.members.items():
            counted = _counted(facts, measure, np.flatnonzero(member))
            yield LabelQuestion.of(facts, measure, (scorer, "group", group), rows, values, counted, member=member)
            if "called" not in measure.parameters and naming is not None:
                yield LabelQuestion.of(facts, measure, (NAMED, "group", group), naming, values, counted, member=member)


def _all_groups(facts: Facts, measure: Entry) -> Iterator[LabelQuestion]:
    """A mean over groups; among the texts that name one, over the ten that are named most."""
    everything, sizes = np.arange(len(facts.truth)), {group: int(member.sum()) for group, member in facts.members.items()}
    most = sorted(sizes, key=lambda group: -sizes[group])[:MOST_NAMED]
    named = [group for group, size in sizes.items() if size]
    for scorer, rows, groups in ((PROBABILITY, everything, named), (NAMED, _naming(facts), most)):
        if rows is not None and groups:
            place, members = (scorer, "all", "all"), _matrix(facts, groups)
            yield LabelQuestion.of(facts, measure, place, rows, facts.score, (len(rows), ""), members=members)


def _domains(
    facts: Facts, measure: Entry, scorer: str, values: Floats, threshold: float | None = None
) -> Iterator[LabelQuestion]:
    """The spread over the groups of each domain; with a threshold, as one point of a curve."""
    for domain, groups in facts.domains.items():
        members = _matrix(facts, groups)
        rows = np.flatnonzero(members.any(axis=0))
        with_rate = int((members & ~facts.truth).any(axis=1).sum())
        lacking = "" if with_rate > 1 else f"not computed: {with_rate} group(s) of {domain} have texts that are not toxic"
        place = (scorer, "domain", domain) if threshold is None else (scorer, "threshold", f"{domain} {scorer}")
        counted, details = (int((~facts.truth[rows]).sum()), lacking), dict[str, Any](n_groups=with_rate)
        if threshold is not None:
            details |= {"domain": domain, "threshold": threshold}
        yield replace(LabelQuestion.of(facts, measure, place, rows, values, counted, members=members), details=details)


def _swaps(facts: Facts, measure: Entry) -> Iterator[LabelQuestion]:
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
        known = SeededRows(measure, facts.clusters[rows], varying, {})
        yield LabelQuestion(replace(facts, scorer=HALF), measure, by, name, known, len(rows), lacking)


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
