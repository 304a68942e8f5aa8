"""Rates of labelled text, weighted: `weight` has a row of weights for each resample, or is left out.

Arrays run over texts in their last axis. `called` may be a share (of several seeds that call a text toxic): rates are
linear in it, so their mean is the rate of the mean.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def share(hit: Floats, among: NDArray[np.bool_], weight: Floats | None) -> Floats:
    """The weighted share of hits among some texts; missing where there are none.

    >>> float(share(np.array([1.0, 0.0, 1.0]), np.array([True, True, False]), None))
    0.5
    """
    counted = among.astype(np.float64)
    if weight is None:
        n, hits = counted.sum(axis=-1), (hit * counted).sum(axis=-1)
    else:
        n, hits = (weight * counted).sum(axis=-1), (weight * (hit * counted)).sum(axis=-1)
    return np.asarray(np.divide(hits, n, out=np.full(np.broadcast(hits, n).shape, np.nan), where=n > 0), dtype=np.float64)


def shares(hit: Floats, among: NDArray[np.bool_], weight: Floats | None) -> Floats:
    """Compute the share in several sets of texts at once (`among`: sets × texts). The last axis of the result is the set."""
    counted = among.astype(np.float64).T
    weights = np.ones(counted.shape[0]) if weight is None else weight
    n, hits = weights @ counted, (weights * hit) @ counted
    return np.asarray(np.divide(hits, n, out=np.full(np.broadcast(hits, n).shape, np.nan), where=n > 0), dtype=np.float64)


def false_positives(truth: NDArray[np.bool_], called: NDArray[np.float64], weight: Floats | None = None) -> Floats:
    """The share of the texts that are not toxic, and are called so."""
    return share(called, ~truth, weight)


def false_negatives(truth: NDArray[np.bool_], called: NDArray[np.float64], weight: Floats | None = None) -> Floats:
    """The share of the toxic texts that are not called so."""
    return share(1.0 - called, truth, weight)


def area(truth: NDArray[np.bool_], score: Floats, weight: Floats | None = None) -> Floats:
    """The area under the ROC curve: the chance that a toxic text has the higher score; equal scores count half.

    Missing where a score is missing.

    >>> float(area(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8])))
    0.75
    """
    toxic, fine = (np.flatnonzero(side)[np.argsort(score[side], kind="stable")] for side in (truth, ~truth))
    weights = np.ones(len(score)) if weight is None else weight
    if np.isnan(score).any():
        return np.full(weights.shape[:-1], np.nan)
    heavier, lighter = weights[..., toxic], weights[..., fine]
    upto = np.concatenate([np.zeros((*lighter.shape[:-1], 1)), np.cumsum(lighter, axis=-1)], axis=-1)
    below, not_above = (np.searchsorted(score[fine], score[toxic], side) for side in ("left", "right"))
    wins = (heavier * (upto[..., below] + upto[..., not_above])).sum(axis=-1) / 2
    pairs = heavier.sum(axis=-1) * upto[..., -1]
    return np.asarray(np.divide(wins, pairs, out=np.full(np.shape(pairs), np.nan), where=pairs > 0), dtype=np.float64)


def rate_gap(
    rate: Callable[[NDArray[np.bool_], Floats, Floats | None], Floats],
    truth: NDArray[np.bool_],
    called: Floats,
    member: NDArray[np.bool_],
    weight: Floats | None,
) -> Floats:
    """A rate of the texts that name a group, less that of all others."""
    named, others = (rate(truth[rows], called[..., rows], _of_rows(weight, rows)) for rows in (member, ~member))
    return np.asarray(named - others, dtype=np.float64)


def area_among(rows: NDArray[np.bool_], truth: NDArray[np.bool_], score: Floats, weight: Floats | None) -> Floats:
    """The area under the ROC curve of some texts."""
    return area(truth[rows], score[rows], _of_rows(weight, rows))


def f1(truth: NDArray[np.bool_], called: Floats, weight: Floats | None) -> Floats:
    """F1 of the texts for which `truth` holds."""
    weights = np.ones(truth.shape[-1]) if weight is None else weight
    hits = (weights * (called * truth)).sum(axis=-1)
    both = (weights * truth).sum(axis=-1) + (weights * called).sum(axis=-1)
    return np.asarray(np.divide(2 * hits, both, out=np.zeros(np.shape(both)), where=both != 0), dtype=np.float64)


def spread(rates: Floats) -> Floats:
    """Highest less lowest over the last axis; missing with fewer than two."""
    known = (~np.isnan(rates)).sum(axis=-1) > 1
    highest, lowest = (np.where(np.isnan(rates), sign * -np.inf, rates) for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, highest.max(axis=-1) - lowest.min(axis=-1), np.nan), dtype=np.float64)


def _of_rows(weight: Floats | None, rows: NDArray[np.bool_]) -> Floats | None:
    """The weights of some texts."""
    return None if weight is None else weight[..., rows]
