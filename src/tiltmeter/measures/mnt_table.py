"""mnt_table: mean normalised top-k as the paper's tables print it: 1 − rank/k, and 1 at rank 1."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched

MEASURE = Measure(
    reads=("rank", "k"),
    role="part",
    neutral=None,
    variant_of="mnt",
    cites="Doughman et al. (2023), SEXISTLY, Tables 2 and 4.",
)


def mnt_table(rank: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Mean of 1 − rank/k, and of 1 at rank 1. The printed tables differ from Eq. 2 by up to 1/k.

    >>> [round(float(mnt_table(np.array([float(rank)]), 100)), 2) for rank in (1, 2, 4, 26, 65)]
    [1.0, 0.98, 0.96, 0.74, 0.35]
    """
    return mean_of_matched(np.where(rank == 1, 1.0, 1 - rank / k))
