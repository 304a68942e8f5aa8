"""equalized_odds: the larger of the ranges of false-positive and of false-negative rates over groups. 0 is neutral."""

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
    cites="Hardt, Price and Srebro (2016), Equality of Opportunity; fairlearn's equalized_odds_difference.",
)


def equalized_odds(
    truth: NDArray[np.bool_],
    called: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Missing where neither range is known.

    >>> members = np.array([[True, True, False, False], [False, False, True, True]])
    >>> truth = np.array([True, False, True, False])
    >>> float(equalized_odds(truth, np.array([1.0, 0.0, 0.0, 0.0]), members))
    1.0
    """
    ranges = [spread(shares(called, members & rows, weight)) for rows in (truth, ~truth)]
    return np.asarray(np.fmax(*ranges), dtype=np.float64)
