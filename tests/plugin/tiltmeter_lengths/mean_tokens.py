"""mean_tokens: how many tokens a sentence has on average."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(reads=("tokens",), role="part", neutral=None, unit="tokens", cites="An example, without a paper.")


def mean_tokens(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over sentences.

    >>> float(mean_tokens(np.array([4.0, 6.0])))
    5.0
    """
    return np.asarray(np.mean(tokens, axis=-1), dtype=np.float64)
