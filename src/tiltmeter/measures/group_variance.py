"""Domain score: the variance of a metric over the protected groups of a domain. 0 is neutral: all groups alike."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("groups",),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, np.inf),
    spread_of=("bias_score", "ces", "ilps", "ilps_causal"),
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 3.",
)


def group_variance(groups: NDArray[np.float64], ddof: int = 1) -> NDArray[np.float64]:
    """Variance over the last axis, of the sample (ddof 1) by default; a single group has no variance.

    >>> float(group_variance(np.array([40.0, 50.0, 60.0]))), float(group_variance(np.array([40.0, 60.0]), ddof=0))
    (100.0, 100.0)
    """
    if groups.shape[-1] < 2:
        return np.full(groups.shape[:-1], np.nan)
    return np.asarray(np.var(groups, axis=-1, ddof=ddof), dtype=np.float64)
