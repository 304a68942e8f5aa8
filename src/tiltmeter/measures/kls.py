"""KLS: how one-sided the KL divergences between Gaussians fitted to the two score sets are. 50 is neutral."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.gaussian import Fit, Floats, fit, fit_of_moments, kl, moments

MEASURE = Measure(
    reads=("stereo", "anti"),
    role="bias",
    neutral=50.0,
    direction="one-sided",
    range=(50.0, 100.0),
    weighted=True,
    cites="Liu (2024), Robust Evaluation Measures for Evaluating Social Biases in Masked Language Models, AAAI.",
)
__all__ = ["MEASURE", "kls", "moments", "of_moments"]


def kls(stereo: NDArray[np.float64], anti: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·max(KL_st‖at, KL_at‖st)/(their sum); equal distributions give 50. Missing where a spread is zero.

    >>> round(float(kls(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))), 6)
    70.811647
    >>> round(float(kls(np.array([0., 1., 2.]), np.array([10., 14., 18.]))), 6)
    93.597114
    """
    return _kls(fit(stereo), fit(anti))


def _kls(of_stereo: Fit, of_anti: Fit) -> NDArray[np.float64]:
    (mean_s, sd_s), (mean_a, sd_a) = of_stereo, of_anti
    forth, back = kl(mean_s, sd_s, mean_a, sd_a), kl(mean_a, sd_a, mean_s, sd_s)
    total = forth + back
    # Both divergences of equal fits are 0 up to rounding, which must not decide between 50 and 100.
    equal = total < 1e-12
    return np.where(equal, 50.0, 100.0 * np.maximum(forth, back) / np.where(equal, 1.0, total))


def of_moments(stereo: Floats, stereo_square: Floats, anti: Floats, anti_square: Floats, n: Floats) -> Floats:
    """Compute it from the means and mean squares of both scores."""
    return _kls(fit_of_moments(stereo, stereo_square, n), fit_of_moments(anti, anti_square, n))
