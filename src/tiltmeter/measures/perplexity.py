"""perplexity: how surprising a text is to a model, exp of the mean negative log-probability of a token. 1 is the least.

For a masked model, which predicts each token from all others, it is the pseudo-perplexity; the two kinds cannot
be compared with each other, nor can models that cut the text into different tokens.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("log_likelihood", "length"),
    role="cost",
    neutral=None,
    ideal=1.0,
    cites="Jelinek et al. (1977); of masked models: Salazar et al. (2020), Masked Language Model Scoring, ACL.",
)


def perplexity(log_likelihood: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(−Σ log-likelihood / Σ tokens), over all lines: a long line counts for as many tokens as it has.

    >>> round(float(perplexity(np.log([0.5**2, 0.25**2]), np.array([2.0, 2.0]))), 4)
    2.8284
    """
    return np.asarray(np.exp(-np.sum(log_likelihood, axis=-1) / np.sum(length, axis=-1)), dtype=np.float64)
