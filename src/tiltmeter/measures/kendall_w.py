"""kendall_w: how far cases agree on a ranking of the groups, from 0 (no agreement) to 1 (all rank them alike)."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("mean_ranks",),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, 1.0),
    cites="Kendall and Babington Smith (1939), The problem of m rankings, Annals of Mathematical Statistics 10.",
)


def kendall_w(mean_ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """12·Σ(mean rank − (k + 1)/2)²/(k³ − k), over the k groups; ties lower it. Chance gives about one by the cases.

    >>> float(kendall_w(np.array([1.0, 2.0, 3.0]))), float(kendall_w(np.array([2.0, 2.0, 2.0])))
    (1.0, 0.0)
    """
    k = mean_ranks.shape[-1]
    if k < 2:
        return np.full(mean_ranks.shape[:-1], np.nan)
    return np.asarray(12.0 * ((mean_ranks - (k + 1) / 2) ** 2).sum(axis=-1) / (k**3 - k), dtype=np.float64)
