"""selection_gap: the selection rate of a group minus that of the others in the same cases, in percentage points."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("decided", "favourable", "other_favourable"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    range=(-100.0, 100.0),
    cites="tiltmeter; selection rates as in 29 CFR 1607.4, compared within cases.",
)


def selection_gap(
    decided: NDArray[np.float64], favourable: NDArray[np.float64], other_favourable: NDArray[np.float64]
) -> NDArray[np.float64]:
    """100·(favourable − other_favourable)/decided.

    Four decisions, three favourable; of the other groups in the same cases half are:

    >>> float(selection_gap(np.array([4.0]), np.array([3.0]), np.array([2.0])))
    25.0
    """
    return 100.0 * ratio(favourable - other_favourable, decided)
