"""JSS: similarity of Gaussians fitted to the two score sets, by Jensen–Shannon divergence. 100 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.gaussian import Fit, Floats, fit, fit_of_moments, moments
from tiltmeter.measures.kit.jensen_shannon import jensen_shannon

MEASURE = Measure(
    reads=("stereo", "anti"),
    role="bias",
    neutral=100.0,
    direction="one-sided",
    range=(0.0, 100.0),
    weighted=True,
    cites="Liu (2024), Robust Evaluation Measures, AAAI, Eq. 7–9.",
)
__all__ = ["MEASURE", "jss", "moments", "of_moments"]


def jss(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·(1 − JS)/(1 + |σ_st − σ_at|); JS in bits, against the two-component mixture, integrated numerically.

    >>> round(float(jss(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))), 4)
    65.6954
    >>> round(float(jss(np.array([0., 1., 2.]), np.array([10., 14., 18.]))), 4)
    0.5395
    """
    return _jss(fit(stereo), fit(anti))


def _jss(of_stereo: Fit, of_anti: Fit) -> NDArray[np.float64]:
    (mean_s, sd_s), (mean_a, sd_a) = of_stereo, of_anti
    value = 100.0 * (1 - jensen_shannon(mean_s, sd_s, mean_a, sd_a)) / (1 + np.abs(sd_s - sd_a))
    return np.asarray(value, dtype=np.float64)


def of_moments(stereo: Floats, stereo_square: Floats, anti: Floats, anti_square: Floats, n: Floats) -> Floats:
    """Compute it from the means and mean squares of both scores."""
    return _jss(fit_of_moments(stereo, stereo_square, n), fit_of_moments(anti, anti_square, n))
