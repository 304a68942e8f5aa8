"""Mean preference: how much higher the stereotypical sentence of a pair scores, on average. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("stereo", "anti"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    leans=True,
    cites="The mean log-likelihood ratio of the pairs of Nangia et al. (2020), CrowS-Pairs, EMNLP.",
)


def mean_preference(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/N Σ f(stereo) − f(anti), in the unit of the scores.

    A share of pairs counts every preference alike. The mean keeps its strength, and so detects smaller changes.

    >>> float(mean_preference(np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 2.0, 4.0])))
    0.5
    """
    return np.asarray(np.mean(stereo - anti, axis=-1), dtype=np.float64)


def moments(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Contribution of an item: the measure is the mean of these."""
    return (stereo - anti,)


def of_moments(preference: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean itself."""
    return preference
