"""Two models on the same pairs: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.occupations import as_read
from tiltmeter.families.pairs.paired import SIDES, Paired, pair_up
from tiltmeter.stats.differences import paired_difference, with_exact_ends
from tiltmeter.stats.estimates import Difference, corrected
from tiltmeter.stats.measured import has_exact_test, sides_of, strata_of, units_for
from tiltmeter.stats.moments import bootstrap_together, exchanged_models
from tiltmeter.stats.resampling import Sample, generator, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import binomial_p
from tiltmeter.stats.units import ITEMS


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the items that both have scores for.

    The same items are drawn for both, so what the models share cancels. p: exact McNemar test for bias_score (over the
    pairs on which the two disagree), else from the bootstrap of the difference; Holm-corrected over groups.
    """
    pairs = pair_up(answers, [*by, *strata_of(measures)], settings.clusters)
    reference = {(paired.benchmark, paired.scorer): paired for paired in pairs if paired.model == second}
    for ours in (paired for paired in pairs if paired.model == first):
        theirs = reference.get((ours.benchmark, ours.scorer))
        if theirs is not None:
            for measure in measures:
                if ours.supports(measure) and theirs.supports(measure):
                    yield from _all_groups(ours, theirs, measure, by, settings)


def _all_groups(ours: Paired, theirs: Paired, measure: Entry, by: Sequence[str], settings: Settings) -> Iterator[Difference]:
    yield _difference(ours, theirs, measure, "all", "all", settings)
    for column in by:
        if column == "all" or not ours.groups[column].notna().any():
            continue
        rows = []
        for name in sorted(ours.groups[column].dropna().unique()):
            here, there = (paired.take(paired.labels.where(column, name)) for paired in (ours, theirs))
            rows.append(_difference(here, there, measure, column, name, settings))
        yield from corrected(rows)


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
    samples = [paired.sample_for(measure) for paired in (ours, theirs)]
    values = [float(statistic(measure, sample.columns, sample.parts)) for sample in samples]
    rng = generator(settings.seed, "bootstrap", ours.benchmark, by, group, measure.name)
    draws = bootstrap_together(measure, samples, rng, settings.resamples)
    is_exact = has_exact_test(measure) and samples[0].cluster is None
    known, units = replace(known, details=ours.cluster_details), replace(units_for(measure, samples[0]), called=ITEMS)
    discordant = _discordant(measure, samples) if is_exact else None
    p = None if discordant is None else binomial_p(*discordant)  # the exact McNemar test
    swaps = generator(settings.seed, "exchange", ours.benchmark, by, group, measure.name)
    exchanged = partial(exchanged_models, measure, samples, swaps, settings.resamples)
    found = paired_difference(known, values, draws, measure, settings, p, units, exchanged)
    if discordant is None:
        return found
    return with_exact_ends(found, discordant, measure.spec.whole or 1.0, settings.confidence)


def _common(ours: Paired, theirs: Paired) -> tuple[Paired, Paired]:
    """The items both have, in the same order."""
    position = {item: n for n, item in enumerate(theirs.groups["item"])}
    here = np.array([n for n, item in enumerate(ours.groups["item"]) if item in position], dtype=np.int64)
    there = np.array([position[item] for item in ours.groups["item"] if item in position], dtype=np.int64)
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


def _discordant(measure: Entry, samples: Sequence[Sample]) -> tuple[int, int]:
    """Count the items on the stereotype's side by the first model only, and by the second only."""
    ours, theirs = (sides_of(measure, sample) > 0 for sample in samples)
    return int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
