"""flip_rate: how often the label changes when the text names another group instead. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import share

MEASURE = Measure(
    reads=("called", "other_called"),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, 1.0),
    proportion=1.0,
    cites="Garg et al. (2019), Counterfactual Fairness in Text Classification through Robustness, AIES.",
)


def flip_rate(
    called: NDArray[np.float64], other_called: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Share of texts whose label differs from that of their counterfactual.

    >>> float(flip_rate(np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0])))
    0.25
    """
    flipped = np.where(np.isnan(called) | np.isnan(other_called), np.nan, called != other_called)
    return share(flipped, np.ones_like(called, dtype=bool), weight)
