"""negative_variance: the variance of shares of negative texts over the groups of a domain. 0 is neutral: all alike."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import sample_variance

MEASURE = Measure(
    reads=("group_shares",),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, np.inf),
    spread_of=("negative_share",),
    cites="Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 3.",
)


def negative_variance(group_shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sample variance over the last axis; a single group has none.

    >>> round(float(negative_variance(np.array([0.1, 0.2, 0.3]))), 6)
    0.01
    """
    return sample_variance(group_shares)
