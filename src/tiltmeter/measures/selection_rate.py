"""selection_rate: the percentage of favourable decisions."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("decided", "favourable"),
    role="part",
    neutral=None,
    range=(0.0, 100.0),
    unit="%",
    cites="Uniform Guidelines on Employee Selection Procedures (1978), 29 CFR 1607.4.",
)


def selection_rate(decided: NDArray[np.float64], favourable: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·favourable/decided; refused and unparsed decisions are not counted.

    >>> float(selection_rate(np.array([10.0, 10.0]), np.array([6.0, 2.0])))
    40.0
    """
    return 100.0 * ratio(favourable, decided)
