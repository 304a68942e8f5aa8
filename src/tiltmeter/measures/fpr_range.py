"""fpr_range: the highest false-positive rate of a domain's groups less the lowest. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import shares, spread

MEASURE = Measure(
    reads=("truth", "called", "members"),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, 1.0),
    by_threshold=True,
    cites="Hardt, Price and Srebro (2016), Equality of Opportunity in Supervised Learning; fairlearn's difference of rates.",
)


def fpr_range(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """`members`: groups × texts. Groups without a text that is not toxic are left out.

    >>> members = np.array([[True, True, False, False], [False, False, True, True]])
    >>> float(fpr_range(np.zeros(4, bool), np.array([1.0, 0.0, 0.0, 0.0]), members))
    0.5
    """
    return spread(shares(called, members & ~truth, weight))
