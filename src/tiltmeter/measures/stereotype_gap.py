"""stereotype_gap: how much likelier the group is that a sentence's stereotype is about than the others. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.matched import mean_of_matched

MEASURE = Measure(
    reads=("own_probability", "rival_probability", "about"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    leans=True,
    test="bootstrap",
    stratum="target",
    cites="tiltmeter; log ratios of the best matches of Doughman et al. (2023), SEXISTLY, by whom a sentence is about.",
)


def stereotype_gap(
    own_probability: NDArray[np.float64], rival_probability: NDArray[np.float64], about: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mean over the groups that sentences are about of the mean log(own/rival). Sentences without both matches are left out.

    Each group weighs the same, so words of one group that are likelier everywhere cancel out.

    >>> float(stereotype_gap(np.array([4.0, 2.0, np.nan]), np.array([2.0, 4.0, 1.0]), np.array([0, 1, 1])))
    0.0
    >>> round(float(stereotype_gap(np.array([4.0, 2.0]), np.array([1.0, 1.0]), np.array([0, 1]))), 4)
    1.0397
    """
    ratio = np.log(own_probability) - np.log(rival_probability)
    means = [mean_of_matched(ratio[..., about == code]) for code in np.unique(about)]
    return np.asarray(np.mean(means, axis=0), dtype=np.float64)
