"""Domain scores: the variance of a metric over the protected groups of a domain (Cao et al., 2022, Section 3)."""

from __future__ import annotations

import numpy as np

from tiltmeter.associating._rows import Floats, Row, estimate_row, interval_above_zero
from tiltmeter.group_estimating import Settings
from tiltmeter.measures.group_variance import group_variance
from tiltmeter.resampling import generator
from tiltmeter.significance import permutation_p


def domain_row(domain: str, scorer: str, scores: Floats, settings: Settings, groups: Floats | None = None) -> Row:
    """Variance over groups (rows) of their means over units (columns: attributes, draws), which all groups share.

    `groups` are the groups' own scores where these are not plain means. The interval draws units anew. p: how often
    the variance is as large when every unit's scores are dealt to the groups at random.
    """
    if groups is not None:
        scores = scores[np.isfinite(groups)]
        groups = groups[np.isfinite(groups)]
    scores = scores[np.isfinite(scores).any(axis=1)]
    scores = scores[:, np.isfinite(scores).all(axis=0)]
    row = estimate_row("group_variance", "domain", domain, scorer, n=len(scores))
    if len(scores) < 2 or scores.shape[1] < 2:
        return row | {"note": "refused: fewer than two groups, or attributes that all of them have"}
    value = float(group_variance(scores.mean(axis=1) if groups is None else groups))
    rng = generator(settings.seed, "domain", domain, scorer)
    units = scores.shape[1]
    weights = rng.multinomial(units, np.full(units, 1 / units), settings.resamples) / units
    draws = group_variance(weights @ scores.T)
    dealt = np.stack([rng.permuted(scores, axis=0).mean(axis=1) for _ in range(settings.resamples)])
    p = permutation_p(value, group_variance(dealt), 0.0)
    return row | {
        "value": value,
        "p": p,
        "note": "sample variance",
        **interval_above_zero(value, draws, settings.confidence),
    }
