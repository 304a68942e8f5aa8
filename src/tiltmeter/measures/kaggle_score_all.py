"""kaggle_score_all: Kaggle's formula over every group: a quarter each of AUC and of the power means of three AUCs."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.bnsp_auc import bnsp_auc
from tiltmeter.measures.bpsn_auc import bpsn_auc
from tiltmeter.measures.kit.rates import area
from tiltmeter.measures.subgroup_auc import subgroup_auc

MEASURE = Measure(
    reads=("truth", "score", "members"),
    role="part",
    neutral=None,
    range=(0.0, 1.0),
    interval="share",
    variant_of="kaggle_score",
    cites="Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification, WWW.",
)
POWER = -5.0


def kaggle_score_all(
    truth: NDArray[np.bool_],
    score: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """¼ AUC + ¼ Σ M₋₅ over groups of subgroup, BPSN and BNSP AUC. Groups whose AUC is undefined are left out of that mean.

    >>> truth, members = np.array([True, False, True, False]), np.array([[True, True, False, False]])
    >>> float(kaggle_score_all(truth, np.array([0.9, 0.2, 0.8, 0.1]), members))
    1.0
    """
    if not len(members):
        return np.full_like(area(truth, score, weight), np.nan)
    means = [
        power_mean(np.stack([measure(truth, score, member, weight) for member in members], axis=-1))
        for measure in (subgroup_auc, bpsn_auc, bnsp_auc)
    ]
    return np.asarray((area(truth, score, weight) + sum(means)) / 4, dtype=np.float64)


def power_mean(values: NDArray[np.float64], power: float = POWER) -> NDArray[np.float64]:
    """(mean of mᵖ)^(1/p) over the last axis, of what is known: with p = −5 the lowest values decide.

    >>> round(float(power_mean(np.array([0.5, 1.0]))), 6)
    0.570825
    """
    n = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(divide="ignore"):
        raised = np.nansum(np.power(values, power), axis=-1) / np.maximum(n, 1)
        mean = np.power(raised, 1 / power)
    return np.asarray(np.where(n > 0, mean, np.nan), dtype=np.float64)
