"""corrected_share: the share of negative texts, corrected for what the judge is known to miss and to raise falsely."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("negatives", "judged", "hits", "alarms"),
    role="part",
    neutral=None,
    range=(0.0, 1.0),
    cites="Rogan and Gladen (1978), Estimating prevalence from the results of a screening test, Am. J. Epidemiology.",
)


def corrected_share(
    negatives: NDArray[np.float64], judged: NDArray[np.float64], hits: NDArray[np.float64], alarms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(share − alarms) / (hits − alarms), between 0 and 1.

    `hits`: the judge's share of negative texts found; `alarms`: of others called negative. A judge whose hits are not
    above its alarms says nothing.

    >>> round(float(corrected_share(np.array([3.0]), np.array([10.0]), np.array(0.9), np.array(0.1))), 6)
    0.25
    """
    power = np.where(hits > alarms, hits - alarms, np.nan)
    return np.asarray(np.clip((ratio(negatives, judged) - alarms) / power, 0.0, 1.0), dtype=np.float64)
