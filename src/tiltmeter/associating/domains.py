"""Domain scores: the variance of a metric over the protected groups of a domain (Cao et al., 2022, Section 3)."""

from __future__ import annotations

import numpy as np

from tiltmeter.associating._rows import Floats, Row, estimate_row, interval_above_zero
from tiltmeter.estimating import Settings
from tiltmeter.measures.group_variance import group_variance
from tiltmeter.resampling import generator
from tiltmeter.significance import permutation_p


def domain_row(domain: str, scorer: str, scores: Floats, settings: Settings) -> Row:
    """Variance over groups (rows) of their means over units (columns: attributes), which all groups share.

    The interval draws units anew. p: how often the variance is as large when every unit's scores are dealt to the
    groups at random.
    """
    scores = scores[np.isfinite(scores).any(axis=1)]
    scores = scores[:, np.isfinite(scores).all(axis=0)]
    row = estimate_row("group_variance", "domain", domain, scorer, n=len(scores))
    if len(scores) < 2 or scores.shape[1] < 2:
        return row | {"note": "refused: fewer than two groups, or attributes that all of them have"}
    value = float(group_variance(scores.mean(axis=1)))
    rng = generator(settings.seed, "domain", domain, scorer)
    drawn = rng.integers(0, scores.shape[1], (settings.resamples, scores.shape[1]))
    draws = group_variance(np.stack([scores[:, index].mean(axis=1) for index in drawn]))
    dealt = np.stack([rng.permuted(scores, axis=0).mean(axis=1) for _ in range(settings.resamples)])
    p = permutation_p(value, group_variance(dealt), 0.0)
    return row | {
        "value": value,
        "p": p,
        "note": "sample variance",
        **interval_above_zero(value, draws, settings.confidence),
    }
