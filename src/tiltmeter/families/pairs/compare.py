"""Two models on the same pairs: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places, of_two_models
from tiltmeter.families.pairs.estimate import part_of
from tiltmeter.families.pairs.occupations import as_read
from tiltmeter.families.pairs.paired import SIDES, Paired, pair_up
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.measured import strata_of
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.samples import compare_samples
from tiltmeter.stats.settings import Settings


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the items that both have scores for.

    The same items are drawn for both, so what the models share cancels. p: exact McNemar test for bias_score (over the
    pairs on which the two disagree), else from the bootstrap of the difference; Holm-corrected over groups.
    """
    pairs = pair_up(answers, [*by, *strata_of(measures)], settings.clusters)
    both = list(of_two_models(pairs, first, second, lambda paired: (paired.benchmark, paired.scorer)))
    yield from each_corrected(
        rows
        for sides in both
        for measure in measures
        if all(paired.supports(measure) for paired in sides)
        for rows in _all_groups(*sides, measure, by, settings)
    )


def _all_groups(
    ours: Paired, theirs: Paired, measure: Entry, by: Sequence[str], settings: Settings
) -> Iterator[Difference | list[Difference]]:
    yield _difference(ours, theirs, measure, "all", "all", settings)
    for column in by:
        if column == "all" or not ours.groups[column].notna().any():
            continue
        names = sorted(ours.groups[column].dropna().unique())
        parts = [(name, *(part_of(paired, column, name) for paired in (ours, theirs))) for name in names]
        yield [_difference(here, there, measure, column, name, settings) for name, here, there in parts]


def _difference(ours: Paired, theirs: Paired, measure: Entry, by: str, group: str, settings: Settings) -> Difference:
    if as_read(ours, measure) is not ours:  # an occupation is a mean over sentences: over those that both have scores for
        ours, theirs = with_common_scores(ours, theirs)
    ours, theirs = as_read(ours, measure), as_read(theirs, measure)
    n_all = len(set(ours.groups["item"]) | set(theirs.groups["item"]))
    ours, theirs = _common(ours.complete_for(measure)[0], theirs.complete_for(measure)[0])
    place = (ours.benchmark, "pairs", ours.scorer, measure.name, by, group, ours.model, theirs.model)
    known = Difference(*place, n=len(ours), n_missing=n_all - len(ours))
    if not len(ours):
        return replace(known, note="not computed: no item has all its scores by both models")
    label = (ours.benchmark, by, group, measure.name)
    streams = generator(settings.seed, "bootstrap", *label), generator(settings.seed, "exchange", *label)
    samples = [paired.sample_for(measure) for paired in (ours, theirs)]
    return compare_samples(replace(known, details=ours.cluster_details), measure, samples, streams, settings)


def _common(ours: Paired, theirs: Paired) -> tuple[Paired, Paired]:
    """The items both have, in the same order."""
    here, there = common_places(ours.groups["item"].array, theirs.groups["item"].array)
    return ours.take(here), theirs.take(there)


def with_common_scores(ours: Paired, theirs: Paired) -> tuple[Paired, Paired]:
    """Both without the scores of the items that either model lacks a score of."""
    ours, theirs = _common(ours, theirs)
    lost = np.any([np.isnan(paired.scores[side]) for paired in (ours, theirs) for side in SIDES], axis=0)
    kept = (
        replace(paired, scores={name: np.where(lost, np.nan, values) for name, values in paired.scores.items()})
        for paired in (ours, theirs)
    )
    return next(kept), next(kept)
