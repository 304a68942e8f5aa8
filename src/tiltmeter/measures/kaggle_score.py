"""kaggle_score: Kaggle's final value: `kaggle_score_all` over the groups with more than 500 texts, as Kaggle counted."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kaggle_score_all import kaggle_score_all

MEASURE = Measure(
    reads=("truth", "score", "members"),
    role="bias",
    neutral=None,
    range=(0.0, 1.0),
    version=2,
    cites="Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification, WWW.",
)
MOST_LEFT_OUT = 500


def kaggle_score(
    truth: NDArray[np.bool_],
    score: NDArray[np.float64],
    members: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the score over groups with more than 500 texts (nine in Kaggle's test set); NaN if there is none.

    >>> truth, members = np.tile([True, False], 300), np.stack([np.arange(600) < 550, np.arange(600) < 500])
    >>> float(kaggle_score(truth, np.where(truth, 0.9, 0.1), members))
    1.0
    """
    return kaggle_score_all(truth, score, members[members.sum(axis=-1) > MOST_LEFT_OUT], weight)
