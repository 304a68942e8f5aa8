"""label_auc: the chance that a toxic text gets a higher probability than another one. 0.5 is chance."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.rates import area

MEASURE = Measure(
    reads=("truth", "score"),
    role="quality",
    neutral=None,
    ideal=1.0,
    range=(0.0, 1.0),
    interval="share",
    cites="Hanley and McNeil (1982), Radiology; scikit-learn's roc_auc_score.",
)


def label_auc(
    truth: NDArray[np.bool_], score: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Area under the ROC curve; missing where one label is missing.

    >>> float(label_auc(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8])))
    0.75
    """
    return area(truth, score, weight)
