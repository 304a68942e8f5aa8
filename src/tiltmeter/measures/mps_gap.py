"""mps_gap: one group's probability minus another's, per sentence, averaged over the sentences where both match."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched

MEASURE = Measure(
    reads=("probability", "other_probability"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    cites="Doughman et al. (2023), SEXISTLY, section 6.5 and Figure 2.",
)


def mps_gap(probability: NDArray[np.float64], other_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the differences; above 0 it leans towards the first group.

    >>> round(float(mps_gap(np.array([0.28, 0.044, 0.5]), np.array([0.103, 0.384, np.nan]))), 4)
    -0.0815
    """
    return mean_of_matched(probability - other_probability)
