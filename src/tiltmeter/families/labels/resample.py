"""Draws of texts and of seeds, and permutations of texts within labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.labels.estimands import Question
from tiltmeter.families.labels.facts import Bools, Facts, Floats, Ints
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.group_tests import Pieces, group_test
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import DrawnShare, share_difference_interval
from tiltmeter.stats.resampling import exchange_models
from tiltmeter.stats.seeds import TwoLevels
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.units import Units

CELLS = 4_000_000
"""Weights held at once; a question about more texts than that allows gets fewer resamples, and says so."""


def counts_of(facts: Facts, settings: Settings) -> Iterator[Floats]:
    """Yield the counts of each cluster of texts in each draw, some draws at a time; equal for all models of a benchmark."""
    rng = generator(settings.seed, "labels", facts.benchmark)
    if len(facts.clusters):
        yield from Design.clustered(facts.clusters).bootstrap(settings.resamples, rng, CELLS)


def drawn(question: Question, facts: Facts, settings: Settings, counts: Sequence[Floats]) -> TwoLevels:
    """One question on the texts and on draws of them."""
    seeds = len(next(iter(question.varying.values())))
    clusters, values, texts = facts.clusters[question.rows], [], []
    wanted = _affordable(question, settings)
    for seed in range(seeds):
        columns = dict(question.fixed) | {name: of_seed[seed] for name, of_seed in question.varying.items()}
        values.append(float(question.measure.function(**columns)))
        merged, codes, times = _merged(columns, clusters)
        texts.append(np.concatenate([
            np.atleast_1d(question.measure.function(**merged, weight=part[:, codes] * times))
            for part in _parts(counts, len(codes), wanted)
        ]))  # fmt: skip
    return TwoLevels(np.array(values), np.stack(texts))


def _affordable(question: Question, settings: Settings) -> int:
    """Areas are not sums, so each draw costs as much as the texts; a large sample needs fewer draws."""
    if "score" not in question.varying:
        return settings.resamples
    cost = len(question.rows) * (3 * len(question.fixed["members"]) if "members" in question.fixed else 1)
    return int(np.clip(10 * CELLS // max(1, cost), MINIMUM_RESAMPLES, settings.resamples))


def _parts(counts: Sequence[Floats], width: int, wanted: int) -> Iterator[Floats]:
    """The draws in parts that fit into memory once they are spread over texts."""
    step, left = max(1, CELLS // max(1, width)), wanted
    for part in counts:
        for first in range(0, len(part), step):
            some = part[first : first + min(step, left)]
            left -= len(some)
            if len(some):
                yield some
        if left <= 0:
            return


def _merged(columns: dict[str, Floats], clusters: Ints) -> tuple[dict[str, Floats], Ints, Floats]:
    """Texts of one cluster that are alike in everything that is read are one, with a weight: the sums are the same."""
    if "score" in columns or np.bincount(clusters).max(initial=0) < 2:
        return columns, clusters, np.ones(len(clusters))
    key = np.vstack([clusters[None], *(np.atleast_2d(values).astype(np.int64) for values in columns.values())])
    _, first, times = np.unique(key, axis=1, return_index=True, return_counts=True)
    return {name: values[..., first] for name, values in columns.items()}, clusters[first], times.astype(np.float64)


def under_chance(question: Question, facts: Facts, settings: Settings, measure: Callable[..., Floats]) -> Floats:
    """A measure under chance: predicted labels are permuted among texts of one label (and one cluster).

    Every seed is permuted alike and measured on its own, as it is on the texts themselves.
    """
    rng = generator(settings.seed, "dealt", facts.benchmark, question.by)
    strata = question.fixed["truth"].astype(np.int64)
    if facts.clustered:
        strata = 2 * facts.clusters[question.rows] + strata
    called = question.varying["called"]
    orders = Design.independent(called.shape[1], np.unique(strata, return_inverse=True)[1]).permute(settings.resamples, rng)[
        0
    ]
    found = []
    for order in orders:
        of_seeds = [np.atleast_1d(measure(**dict(question.fixed) | {"called": seed[order]})) for seed in called]
        found.append(np.mean(of_seeds, axis=0))
    return np.concatenate(found)


def exchanged_models(pair: tuple[Question, Question], facts: Facts, settings: Settings) -> tuple[Floats, bool]:
    """Differences of two models after exchanging their answers in random texts, or clusters of texts, seed by seed."""
    asked = pair[0]
    rng = generator(settings.seed, "exchanged", facts.benchmark, asked.by)

    def mean_over_seeds(columns: dict[str, Floats]) -> Floats:
        seeds = zip(*(np.moveaxis(values, 1, 0) for values in columns.values()), strict=True)
        found = [asked.measure.function(**dict(asked.fixed), **dict(zip(columns, seed, strict=True))) for seed in seeds]
        return np.asarray(np.mean(found, axis=0), dtype=np.float64)

    design = Design.clustered(facts.clusters[asked.rows])
    return exchange_models(design, (asked.varying, pair[1].varying), mean_over_seeds, settings.resamples, rng)


def units_of(question: Question, facts: Facts, drawn_values: TwoLevels) -> Units:
    """Count the independent texts, or clusters of texts, of a question; with several seeds these are a second level."""
    clusters = facts.clusters[question.rows]
    n = len(np.unique(clusters))
    units = Units.independent(min(n, question.n) if question.n else n)
    if "score" in question.varying:  # an area varies as the smaller of the sides that it compares
        smaller = min((len(np.unique(clusters[side])) for side in _compared(question)), default=0)
        units = replace(units, n=min(units.n, smaller), effective=min(units.effective, 2.0 * smaller))
    return units.with_seeds(len(drawn_values.values), drawn_values.seeds_share)


def _compared(question: Question) -> list[Bools]:
    """Texts of the sides that an area compares: those without which it is not defined."""
    truth = question.fixed["truth"]
    member = question.fixed.get("member")
    sides = [truth, ~truth] if member is None else [truth & member, truth & ~member, ~truth & member, ~truth & ~member]
    columns = dict(question.fixed) | {name: of_seed[0] for name, of_seed in question.varying.items()}
    without = question.measure.function(**columns, weight=np.stack([~side for side in sides]).astype(np.float64))
    return [side for side, value in zip(sides, without, strict=True) if np.isnan(value)]


def groups_p(question: Question, facts: Facts, settings: Settings) -> float:
    """p of groups whose texts come in clusters: clusters are permuted, and rates are compared in standard errors.

    Of a measure of both rates, the smaller p counts twice. Groups with too few clusters are left out.
    """
    truth, called = question.fixed["truth"], np.mean(question.varying["called"], axis=0)
    member = question.fixed.get("member")
    members = question.fixed["members"] if member is None else np.stack([member, ~member])
    rng = generator(settings.seed, "dealt", facts.benchmark, question.by)
    found = []
    for side in (side for side in (truth, ~truth) if _reads(question, side)):
        group, row = np.nonzero(members & side)
        sums = np.stack([np.ones(len(row)), called[row]], axis=1)
        pieces = Pieces.of(sums, facts.clusters[question.rows][row], group, len(members))
        test = group_test([str(n) for n in range(len(members))], pieces, settings.resamples, rng, FEWEST)
        found.append(test.gap("0", "1") if member is not None else test.spread())
    return min(1.0, len(found) * min(found)) if found and np.isfinite(found).all() else float("nan")


def _reads(question: Question, side: Bools) -> bool:
    """Return whether a measure is about the texts of one label: whether it is undefined without them."""
    columns = dict(question.fixed) | {name: of_seed[0] for name, of_seed in question.varying.items()}
    return bool(np.isnan(question.measure.function(**columns, weight=(~side)[None].astype(np.float64))).any())


def gap_interval(
    question: Question, facts: Facts, rate: Entry, settings: Settings, counts: Sequence[Floats]
) -> tuple[float, float]:
    """Newcombe's interval of the difference of a rate between the texts that name a group and all others."""
    stream, sides = seeds_of(facts, settings), []
    for side in (question.fixed["member"], ~question.fixed["member"]):
        part = question.about(rate, side)
        found = drawn(part, facts, settings, counts)
        sides.append(DrawnShare(found.value, found.both(stream), units_of(part, facts, found)))
    return share_difference_interval(sides[0], sides[1], settings)


def seeds_of(facts: Facts, settings: Settings) -> np.random.Generator:
    """The random stream of a model's seeds."""
    return generator(settings.seed, "seeds", facts.model, facts.benchmark)
