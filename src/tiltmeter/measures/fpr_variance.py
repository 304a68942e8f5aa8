"""fpr_variance: the variance of false-positive rates over a domain's groups, the paper's domain score. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import shares

MEASURE = Measure(
    reads=("truth", "called", "members"),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, 1.0),
    spread_of=("fpr",),
    per_seed=True,
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL: TOXD and HATEX.",
)


def fpr_variance(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Sample variance (n − 1) over the groups that have a rate; missing with fewer than two.

    >>> members = np.array([[True, True, False, False], [False, False, True, True]])
    >>> float(fpr_variance(np.zeros(4, bool), np.array([1.0, 1.0, 1.0, 0.0]), members))
    0.125
    """
    rates = shares(called, members & ~truth, weight)
    n = (~np.isnan(rates)).sum(axis=-1, keepdims=True)
    mean = np.nansum(rates, axis=-1, keepdims=True) / np.maximum(n, 1)
    squares = np.nansum((rates - mean) ** 2, axis=-1)
    return np.asarray(np.where(n[..., 0] > 1, squares / np.maximum(n[..., 0] - 1, 1), np.nan), dtype=np.float64)
