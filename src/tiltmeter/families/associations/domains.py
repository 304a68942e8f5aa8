"""Domain scores of association tests: the variance over protected groups (Cao et al., 2022, Section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltmeter import catalog
from tiltmeter.families.associations.facts import Floats
from tiltmeter.measures.group_variance import group_variance
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.measured import with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.spread import names_of_rows, permuted_spread, spread_over_shared_units

VARIANCE = "group_variance"


def domain_of_words(
    row: Estimate, groups: Floats, resampled: Floats, words: Sequence[Floats], settings: Settings
) -> Estimate:
    """Variance over groups of several words each: `resampled` are groups × resamples, `words` every word's mean effect.

    p: how often the means of the groups vary at least as much when the words are permuted across the groups.
    """
    row = replace(row, measure=VARIANCE, by="domain", n=len(groups), details={"n_groups": len(groups)})
    if len(groups) < 2:
        return replace(row, note="not computed: fewer than 2 groups")
    rng = generator(settings.seed, "domain", row.group, row.scorer)
    chance = permuted_spread(np.concatenate(list(words)), names_of_rows(words), rng, settings.resamples)
    observed = float(group_variance(np.array([of_group.mean() for of_group in words])))
    note = "sample variance; words resampled for the interval, permuted across groups for p"
    row, draws = replace(row, value=float(group_variance(groups)), note=note), group_variance(resampled.T)
    return _finished(row, observed, chance, draws, sum(map(len, words)), settings)


def domain_estimate(row: Estimate, scores: Floats, settings: Settings, groups: Floats | None = None) -> Estimate:
    """Variance over groups (rows) of their means over units (columns: attributes or draws), which all groups share.

    `groups` are the groups' own scores where these are not plain means. The interval comes from resampled units. p: how
    often the variance is at least as large when each unit's scores are assigned to the groups at random.
    """
    if groups is not None:
        scores = scores[np.isfinite(groups)]
        groups = groups[np.isfinite(groups)]
    scores = scores[np.isfinite(scores).any(axis=1)]
    scores = scores[:, np.isfinite(scores).all(axis=0)]
    row = replace(row, measure=VARIANCE, by="domain", n=len(scores), details={"n_groups": len(scores)})
    if len(scores) < 2 or scores.shape[1] < 2:
        return replace(row, note="not computed: fewer than 2 groups, or fewer than 2 attributes that all groups have")
    value = float(group_variance(scores.mean(axis=1) if groups is None else groups))
    row = replace(row, value=value, note="sample variance")
    rng = generator(settings.seed, "domain", row.group, row.scorer)
    draws, chance = spread_over_shared_units(scores, rng, settings.resamples)
    return _finished(row, row.value, chance, draws, scores.shape[1], settings)


def _finished(row: Estimate, observed: float, chance: Floats, draws: Floats, n: int, settings: Settings) -> Estimate:
    """Fill in the p of what was observed, and the interval of so many units."""
    row = replace(row, p=permutation_p(observed, chance, 0.0))
    return with_interval(row, catalog.find("measures", VARIANCE), n, draws, settings)
