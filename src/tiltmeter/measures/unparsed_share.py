"""unparsed_share: the percentage of questions without an answer that could be read: no letter, refused, empty."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("questions", "unparsed"),
    role="part",
    neutral=None,
    ideal=0.0,
    range=(0.0, 100.0),
    unit="%",
    cites="Jin et al. (2024), KoBBQ, TACL: answers outside the choices are reported apart.",
)


def unparsed_share(questions: NDArray[np.float64], unparsed: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·unparsed/questions.

    >>> float(unparsed_share(np.array([8.0]), np.array([2.0])))
    25.0
    """
    return 100.0 * ratio(unparsed, questions)
