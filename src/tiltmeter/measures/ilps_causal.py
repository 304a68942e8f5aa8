"""ILPS for causal models, which have no mask: what follows the group, against a neutral word in its place. 0 is neutral.

An analogue of our own, with a name of its own: its values cannot be compared with those of `ilps`.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.ilps import ilps

MEASURE = Measure(
    reads=("logprob", "prior"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    unit="nats",
    cites="After Kurita et al. (2019); the causal analogue is tiltmeter's.",
)


def ilps_causal(logprob: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of log P(x and what follows | up to x, with the group) − the same with a neutral word for the group.

    >>> float(ilps_causal(np.array([-2.0, -3.0]), np.array([-2.5, -3.0])))
    0.25
    """
    return ilps(logprob, prior)
