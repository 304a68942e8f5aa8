"""subgroup_auc: within the texts that name a group, do toxic ones get the higher probability?"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import area_among

MEASURE = Measure(
    reads=("truth", "score", "member"),
    role="bias",
    neutral=None,
    range=(0.0, 1.0),
    interval="share",
    cites="Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification, WWW.",
)


def subgroup_auc(
    truth: NDArray[np.bool_],
    score: NDArray[np.float64],
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Toxic and other texts of the group.

    >>> truth, group = np.array([True, False, True, False]), np.array([True, True, False, False])
    >>> float(subgroup_auc(truth, np.array([0.9, 0.9, 0.8, 0.1]), group))
    0.5
    """
    return area_among(member, truth, score, weight)
