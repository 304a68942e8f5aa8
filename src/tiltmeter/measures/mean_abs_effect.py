"""Average absolute effect size over a family of SEAT tests, as debiasing papers report it. 0 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("effects",),
    role="bias",
    neutral=0.0,
    direction="one-sided",
    range=(0.0, np.inf),
    unit="standard deviations",
    cites="Liang et al. (2020), Sent-Debias, ACL; Doughman et al., SEXISTLY, Table 3.",
)


def mean_abs_effect(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean |d| over the last axis.

    >>> float(mean_abs_effect(np.array([0.5, -0.25])))
    0.375
    """
    return np.asarray(np.mean(np.abs(effects), axis=-1), dtype=np.float64)
