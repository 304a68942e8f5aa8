"""Two models on the same slots: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.slots.estimate import (
    SCORER,
    Pair,
    columns_of,
    independent_of,
    is_own,
    own_parts,
    pairs_of,
    parts_of,
    sample_of,
    stream_of,
    there_for,
)
from tiltmeter.families.slots.fills import Fills, fills_of
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, corrected
from tiltmeter.stats.measured import stratum_of
from tiltmeter.stats.moments import exchanged_models
from tiltmeter.stats.resampling import bootstrap_alike, generator, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import ITEMS, Units

RANKED_DIFFERENTLY = "not computed: the two models were ranked differently (another top k, or another kind of model)"


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the sentences in which both models have what the measure reads.

    The same sentences are drawn for both, so what the models share cancels. p is from the bootstrap of the difference;
    Holm-corrected over the groups, or the gaps, of a measure.
    """
    filled = fills_of(answers, by)
    reference = {fills.benchmark: fills for fills in filled if fills.model == second}
    for ours in (fills for fills in filled if fills.model == first and fills.benchmark in reference):
        theirs = reference[ours.benchmark]
        for measure in (measure for measure in measures if is_own(measure)):
            for (label, here), (_, there) in zip(own_parts(ours), own_parts(theirs), strict=True):
                yield _difference(aligned(here, there), measure, None, label, settings)
        for measure in (measure for measure in measures if not is_own(measure)):
            for (suffix, name, here), (_, _, there) in zip(parts_of(ours, by), parts_of(theirs, by), strict=True):
                yield from corrected(list(_all_groups(aligned(here, there), measure, suffix, name, settings)))


def aligned(ours: Fills, theirs: Fills) -> tuple[Fills, Fills]:
    """Both on the sentences that both models could fill, in the order of the first."""
    place = {item: n for n, item in enumerate(theirs.groups["item"]) if theirs.reason[n] is None}
    items = zip(ours.groups["item"], ours.reason, strict=True)
    here = np.array([n for n, (item, why) in enumerate(items) if why is None and item in place], dtype=np.int64)
    there = np.array([place[item] for item in ours.groups["item"].iloc[here]], dtype=np.int64)
    return ours.take(here), theirs.take(there)


def matched(fills: tuple[Fills, Fills], measure: Entry, pair: Pair | None) -> tuple[Fills, Fills]:
    """Both on the sentences in which both models have the matches that a measure reads."""
    if not len(fills[0]):
        return fills
    common = np.logical_and(*(there_for(measure, columns_of(each, pair)) for each in fills))
    return fills[0].take(common), fills[1].take(common)


def _all_groups(
    fills: tuple[Fills, Fills], measure: Entry, suffix: str, name: str, settings: Settings
) -> Iterator[Difference]:
    pairs, sign = pairs_of(fills[0], measure)
    by = f"gap{suffix}" if sign else f"group{suffix}"
    for pair in pairs:
        yield _difference(fills, measure, pair, (by, f"{sign.join(filter(None, pair))}{name}"), settings)


def _difference(
    fills: tuple[Fills, Fills], measure: Entry, pair: Pair | None, label: tuple[str, str], settings: Settings
) -> Difference:
    n_all = len(fills[0])
    ours, theirs = fills = matched(fills, measure, pair)
    n = len(ours)
    place = (ours.benchmark, "slots", SCORER, measure.name, *label, ours.model, theirs.model)
    known = Difference(*place, n=n, n_missing=n_all - n)
    if ours.k != theirs.k or ours.among != theirs.among:
        return replace(known, note=RANKED_DIFFERENTLY)
    known = replace(known, details={"top_k": ours.k, "ranked_among": ours.among})
    if not n:
        return replace(known, note="not computed: no sentence has a match by both models")
    if pair is None and ours.groups["target"].nunique() < 2:
        return replace(known, note="not computed: sentences with matches by both models are about one group only")
    samples = [sample_of(each, pair, stratum_of(measure)) for each in fills]
    values = [float(statistic(measure, sample.columns, sample.parts)) for sample in samples]
    draws = bootstrap_alike(measure, samples, stream_of(settings, ours.benchmark, label[0]), settings.resamples)
    swaps = generator(settings.seed, "exchange", ours.benchmark, *label)
    exchanged = partial(exchanged_models, measure, samples, swaps, settings.resamples)
    units = Units.independent(independent_of(samples[0], n), ITEMS)
    return paired_difference(known, values, draws, measure, settings, units=units, exchanged=exchanged)
