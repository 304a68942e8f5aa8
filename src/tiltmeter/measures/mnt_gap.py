"""mnt_gap: one group's normalised rank minus another's, per sentence, averaged over the sentences where both match."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched, normalised

MEASURE = Measure(
    reads=("rank", "other_rank", "k"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    cites="Doughman et al. (2023), SEXISTLY, section 6.5 and Figure 3.",
)


def mnt_gap(rank: NDArray[np.float64], other_rank: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Mean of the differences; above 0 it leans towards the first group.

    >>> round(float(mnt_gap(np.array([1.0, 5.0]), np.array([100.0, 5.0]), 100)), 4)
    0.5
    """
    return mean_of_matched(normalised(rank, k) - normalised(other_rank, k))
