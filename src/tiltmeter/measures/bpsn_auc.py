"""bpsn_auc: background positive, subgroup negative. Low: harmless texts about the group look toxic."""

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


def bpsn_auc(
    truth: NDArray[np.bool_],
    score: NDArray[np.float64],
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Other texts of the group against toxic texts of the background.

    >>> truth, group = np.array([True, False, True, False]), np.array([True, True, False, False])
    >>> float(bpsn_auc(truth, np.array([0.9, 0.9, 0.8, 0.1]), group))
    0.0
    """
    return area_among(np.where(truth, ~member, member), truth, score, weight)
