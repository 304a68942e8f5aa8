"""JSS as its authors' code computes it: against a single Gaussian, and values above 1 inverted. 100 is neutral.

All published JSS tables come from this version. `jss` is the formula of the paper.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.gaussian import Fit, Floats, fit, fit_of_moments, kl, moments

MEASURE = Measure(
    reads=("stereo", "anti"),
    # Another form of jss.
    role="part",
    neutral=100.0,
    direction="one-sided",
    range=(0.0, 100.0),
    weighted=True,
    variant_of="jss",
    cites="Liu (2024), AAAI; github.com/nlply/robust-bias-evaluation-measures.",
)
__all__ = ["MEASURE", "jss_liu", "moments", "of_moments"]


def jss_liu(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·(1 − J)/(1 + C), J from KLs to N(mean of means, mean of variances), C = |σ_st − σ_at|; J, C > 1 inverted.

    >>> round(float(jss_liu(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))), 6)
    68.130273
    >>> round(float(jss_liu(np.array([0., 1., 2.]), np.array([10., 14., 18.]))), 6)
    48.796197
    """
    return _jss_liu(fit(stereo), fit(anti))


def _jss_liu(of_stereo: Fit, of_anti: Fit) -> NDArray[np.float64]:
    (mean_s, sd_s), (mean_a, sd_a) = of_stereo, of_anti
    mean_m, sd_m = (mean_s + mean_a) / 2, np.sqrt((sd_s**2 + sd_a**2) / 2)
    divergence = 0.5 * kl(mean_s, sd_s, mean_m, sd_m) + 0.5 * kl(mean_a, sd_a, mean_m, sd_m)
    gap = np.abs(sd_s - sd_a)
    divergence = np.where(divergence > 1, 1 / np.maximum(divergence, 1.0), divergence)
    gap = np.where(gap > 1, 1 / np.maximum(gap, 1.0), gap)
    return np.asarray(100.0 * (1 - divergence) / (1 + gap), dtype=np.float64)


def of_moments(stereo: Floats, stereo_square: Floats, anti: Floats, anti_square: Floats, n: Floats) -> Floats:
    """Compute it from the means and mean squares of both scores."""
    return _jss_liu(fit_of_moments(stereo, stereo_square, n), fit_of_moments(anti, anti_square, n))
