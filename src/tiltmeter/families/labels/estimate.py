"""Estimates of labels, and differences of two models: all texts, groups, domains and counterfactuals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.catalog import Entry
from tiltmeter.display import share_text
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models, pair_by
from tiltmeter.families.labels.estimands import Question, questions
from tiltmeter.families.labels.facts import Facts, Floats, facts_of
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate, each_corrected
from tiltmeter.stats.group_tests import Pieces, group_test
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import DrawnShare, neutral_of, share_difference_interval, with_interval
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import Units

FAMILY = "labels"
CELLS = 4_000_000
"""Weights held at once; a question about more texts than that allows gets fewer resamples, and says so."""
CHANCE_NOTE = "mean over permutations within clusters, since texts of a cluster are not independent"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is all, group, domain, threshold, swap, or a column of yours.

    The value is the mean over seeds. Intervals draw texts (clusters of texts where they belong together) and seeds, at two
    levels; notes say which part of the variance is that of the seeds. p of gaps and of domain scores: who is called toxic
    is permuted at random among texts of the same label (in clusters: whole clusters, with rates in standard errors);
    Holm-corrected over the groups, or domains, of a measure.
    """
    for facts in facts_of(answers, _extra_columns(by), settings.clusters):
        counts, together = _counts(facts, settings), _tested_together(questions(facts, measures, by))
        yield from each_corrected([_estimate(question, counts, settings) for question in some] for some in together)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the texts that both label.

    The same texts are drawn for both, and each model's own seeds. p is from the bootstrap of the difference; Holm-corrected
    over the groups, or domains, of a measure.
    """
    for ours, theirs in of_two_models(facts_of(answers, _extra_columns(by), settings.clusters), first, second):
        both = aligned(ours, theirs)
        counts, sides = _counts(both[0], settings), [questions(facts, measures, by) for facts in both]
        lists = [_tested_together(question for question in side if not question.curve) for side in sides]
        together = pair_by(lists[0], lists[1], _place)
        yield from each_corrected([_difference(*pair, counts, settings) for pair in some] for some in together)


def aligned(ours: Facts, theirs: Facts) -> tuple[Facts, Facts]:
    """Both on the texts that both have, in the order of the first."""
    here, there = common_places(ours.items, theirs.items)
    return ours.take(here), theirs.take(there)


def _tested_together(estimands: Iterable[Question]) -> Iterator[list[Question]]:
    """The groups, or domains, of a measure, which are tested together."""
    for _, together in groupby(estimands, key=lambda question: (question.measure.name, question.scorer, question.by)):
        yield list(together)


def _place(question: Question) -> tuple[str, ...]:
    """The subject of a question, whichever model answered it."""
    return question.measure.name, question.scorer, question.by, question.group


def _extra_columns(by: Sequence[str]) -> list[str]:
    """Columns of the user's; those that every benchmark has are about pairs."""
    return [column for column in by if column not in (*GROUP_COLUMNS, "all")]


def _estimate(question: Question, counts: Sequence[Floats], settings: Settings) -> Estimate:
    facts, measure, spec = question.facts, question.measure, question.measure.spec
    row = Estimate(
        *(facts.model, facts.benchmark, FAMILY, question.scorer, measure.name, question.by, question.group),
        n=question.n,
        n_missing=facts.n_missing(question.by, question.group),
        neutral=neutral_of(measure),
        missing=json.dumps(dict(facts.reasons)) if facts.reasons else "",
        note=question.lacking,
        details=question.details,
    )
    if question.lacking:
        return row
    if facts.clustered and spec.chance_of is not None:
        by_chance = _under_chance(question, settings, spec.chance_of)
        return replace(row, value=float(np.nanmean(by_chance)), note=CHANCE_NOTE)
    found, share = _drawn(question, counts, settings, _seeds(question, settings))
    if np.isnan(found.value):
        of_groups = "members" in question.fixed  # `kaggle_score` reads groups of more than 500 texts only
        lacking = "no group has enough texts" if of_groups else "no text is left on one of the two sides that are compared"
        return replace(row, note=f"not computed: {lacking}")
    n = len(found.draws)
    details = {**row.details, "seeds_share": share, "n_resamples": n}
    row = replace(row, value=found.value, p=p_value(question, found.value, settings), details=details)
    of_seeds = "" if np.isnan(share) else f"{share_text(share, 0)} of the variance is that of the seeds"
    fewer = f"interval from {n} resamples, since there are many texts" if n < settings.resamples else ""
    row = with_interval(row, measure, found.units, found.draws, settings, of_seeds, fewer)
    if spec.difference_of:
        member, seeds = question.fixed["member"], _seeds(question, settings)
        parts = [question.about(catalog.find("measures", spec.difference_of), side) for side in (member, ~member)]
        naming, rest = (_drawn(part, counts, settings, seeds)[0] for part in parts)
        low, high = share_difference_interval(naming, rest, settings)
        row = replace(row, low=low, high=high)
    return row


def _difference(ours: Question, theirs: Question, counts: Sequence[Floats], settings: Settings) -> Difference:
    measure, pair, facts = ours.measure, (ours, theirs), ours.facts
    place = (facts.benchmark, FAMILY, ours.scorer, measure.name, ours.by, ours.group, facts.model, theirs.facts.model)
    row = Difference(*place, n=ours.n, n_missing=max(one.facts.n_missing(ours.by, ours.group) for one in pair))
    if lacking := ours.lacking or theirs.lacking:
        return replace(row, note=lacking)
    found = [_drawn(question, counts, settings, _seeds(question, settings))[0] for question in pair]
    units = min((one.units for one in found), key=lambda side: side.df)
    seeds = {question.n_seeds for question in pair}
    # Exchanging texts leaves out the noise of training, so alone it serves single seeds; one-sided measures take the wider.
    may_exchange = seeds == {1} or (len(seeds) == 1 and measure.spec.is_one_sided)
    rng = generator(settings.seed, "exchanged", facts.benchmark, ours.by)
    exchanged = partial(ours.exchanged, theirs, settings.resamples, rng) if may_exchange else None
    values, draws = [one.value for one in found], [one.draws for one in found]
    return paired_difference(row, values, draws, measure, settings, units=units, exchanged=exchanged)


def _counts(facts: Facts, settings: Settings) -> list[Floats]:
    """Count each cluster of texts in each draw, some draws at a time; equal for all models of a benchmark."""
    if not len(facts.clusters):
        return []
    design, rng = Design.clustered(facts.clusters), generator(settings.seed, "labels", facts.benchmark)
    return list(design.bootstrap(settings.resamples, rng, CELLS * design.n_clusters // len(facts.clusters)))


def _drawn(
    question: Question, counts: Sequence[Floats], settings: Settings, seeds: np.random.Generator
) -> tuple[DrawnShare, float]:
    """A measure of the texts, and of draws of texts and seeds; and which part of its variance is that of the seeds."""
    found = question.drawn(counts, _affordable(question, settings))
    units = _units(question).with_seeds(question.n_seeds, found.seeds_share)
    return DrawnShare(found.value, found.both(seeds), units), found.seeds_share


def _affordable(question: Question, settings: Settings) -> int:
    """Areas are not sums, so each draw costs as much as the texts; a large sample needs fewer draws."""
    if "score" not in question.varying:
        return settings.resamples
    cost = len(question.cluster) * (3 * len(question.fixed["members"]) if "members" in question.fixed else 1)
    return int(np.clip(10 * CELLS // max(1, cost), MINIMUM_RESAMPLES, settings.resamples))


def _units(question: Question) -> Units:
    """Count the independent texts, or clusters of texts, of a question."""
    n = len(np.unique(question.cluster))
    units = Units.independent(min(n, question.n) if question.n else n)
    if "score" not in question.varying:
        return units
    truth, member = question.fixed["truth"], question.fixed.get("member")  # an area varies as the smaller of its sides
    groups = [truth | ~truth] if member is None else [member, ~member]
    sides = question.needed([label & group for label in (truth, ~truth) for group in groups])
    smaller = min((len(np.unique(question.cluster[side])) for side in sides), default=0)
    return replace(units, n=min(units.n, smaller), effective=min(units.effective, 2.0 * smaller))


def _seeds(question: Question, settings: Settings) -> np.random.Generator:
    """The random stream of a model's seeds."""
    return generator(settings.seed, "seeds", question.facts.model, question.facts.benchmark)


def p_value(question: Question, value: float, settings: Settings) -> float:
    """Permutation p, only where groups are compared, and not for each point of a curve."""
    neutral = neutral_of(question.measure)
    tested = {"member", "members"} & set(question.fixed) and "called" in question.varying and not question.curve
    if np.isnan(neutral) or not tested:
        return float("nan")
    if question.facts.clustered:
        return _groups_p(question, settings)
    again = _under_chance(question, settings, question.measure.function)
    centre = neutral if question.measure.spec.is_one_sided else float(np.nanmean(again))
    return permutation_p(value, again, centre)


def _under_chance(question: Question, settings: Settings, measure: Callable[..., Floats]) -> Floats:
    """A measure under chance: predicted labels are permuted among texts of one label (and one cluster)."""
    strata = question.fixed["truth"].astype(np.int64) + (2 * question.cluster if question.facts.clustered else 0)
    return question.permuted(measure, strata, settings.resamples, _permutations(question, settings))


def _groups_p(question: Question, settings: Settings) -> float:
    """p of groups whose texts come in clusters: clusters are permuted, and rates are compared in standard errors.

    Of a measure of both rates, the smaller p counts twice. Groups with too few clusters are left out.
    """
    truth, called = question.fixed["truth"], np.mean(question.varying["called"], axis=0)
    member = question.fixed.get("member")
    members = question.fixed["members"] if member is None else np.stack([member, ~member])
    rng, found = _permutations(question, settings), []
    for side in question.needed([truth, ~truth]):
        group, row = np.nonzero(members & side)
        pieces = Pieces.of(np.stack([np.ones(len(row)), called[row]], axis=1), question.cluster[row], group, len(members))
        test = group_test([str(n) for n in range(len(members))], pieces, settings.resamples, rng, FEWEST)
        found.append(test.gap("0", "1") if member is not None else test.spread())
    return min(1.0, len(found) * min(found)) if found and np.isfinite(found).all() else float("nan")


def _permutations(question: Question, settings: Settings) -> np.random.Generator:
    return generator(settings.seed, "dealt", question.facts.benchmark, question.by)
