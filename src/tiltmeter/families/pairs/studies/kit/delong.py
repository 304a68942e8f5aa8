"""Areas under ROC curves that share their items: DeLong's covariance, intervals, and the paired test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.significance import exact_proportion_interval

Floats = NDArray[np.float64]


def areas(scores: Floats, label: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """AUC of each row of scores (scorers × items), and their covariance (DeLong et al., 1988; Sun and Xu, 2014).

    >>> value, covariance = areas(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]), np.array([0, 0, 1, 1], bool))
    >>> value.tolist(), covariance.round(4).tolist()
    ([1.0, 0.75], [[0.0, 0.0], [0.0, 0.125]])
    """
    from scipy.stats import rankdata

    positive, negative = scores[:, label], scores[:, ~label]
    m, n = positive.shape[1], negative.shape[1]
    together = rankdata(np.concatenate([positive, negative], axis=1), axis=1)
    above = (together[:, :m] - rankdata(positive, axis=1)) / n  # share of negatives that each positive beats
    below = 1 - (together[:, m:] - rankdata(negative, axis=1)) / m
    covariance = np.atleast_2d(np.cov(above)) / m + np.atleast_2d(np.cov(below)) / n
    return above.mean(axis=1), covariance


def area_interval(area: float, variance: float, counts: tuple[int, int], confidence: float) -> tuple[float, float]:
    """Normal interval inside [0, 1]. A perfect separation has no variance: then exact, with the smaller class as n."""
    from scipy.stats import norm

    if variance <= 0:
        least = min(counts)
        low, high = exact_proportion_interval(round(area * least), least, confidence)
        return low / 100, high / 100
    reach = float(norm.ppf(0.5 + confidence / 2)) * float(np.sqrt(variance))
    return max(0.0, area - reach), min(1.0, area + reach)


def difference_p(first: int, second: int, value: Floats, covariance: Floats) -> float:
    """Two-sided p that two areas on the same items are equal; scorers that rank all items alike have p = 1."""
    from scipy.stats import norm

    variance = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
    if variance <= 1e-15:
        return 1.0 if np.isclose(value[first], value[second]) else 0.0
    return float(2 * norm.sf(abs(value[first] - value[second]) / np.sqrt(variance)))


def roc(score: Floats, label: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Points of the curve: false-positive and true-positive rates, as the threshold falls. Tied scores are one step.

    >>> [axis.tolist() for axis in roc(np.array([3.0, 2.0, 2.0, 1.0]), np.array([1, 1, 0, 0], bool))]
    [[0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0]]
    """
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)
    right, wrong = np.cumsum(label[order])[last], np.cumsum(~label[order])[last]
    return np.append(0.0, wrong / (~label).sum()), np.append(0.0, right / label.sum())
