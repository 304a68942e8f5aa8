"""Combined effect size of CEAT: effect sizes of many draws of contexts, by a random-effects model. 0 is neutral."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("effects", "variances"),
    role="bias",
    neutral=0.0,
    direction="two-sided",
    unit="standard deviations",
    cites="Guo and Caliskan (2021), Detecting Emergent Intersectional Biases, AIES; DerSimonian and Laird (1986).",
)


class Combined(NamedTuple):
    """Many effect sizes combined by a random-effects model. `p` is one-sided, as published."""

    ces: float
    standard_error: float
    tau_squared: float
    q: float
    p: float


def ces(effects: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σw*e/Σw*, w* = 1/(V + τ²).

    >>> round(float(ces(np.array([0.5, 0.0]), np.array([0.04, 0.05]))), 6)
    0.26
    """
    return combined_effect(effects, variances)


def combined_effect(
    effects: NDArray[np.float64], variances: NDArray[np.float64], counts: NDArray[np.float64] | float = 1.0
) -> NDArray[np.float64]:
    """Combine effects of which each counts so many times."""
    weights = counts / (variances + between_variance(effects, variances, counts)[0][..., None])
    return np.asarray(np.sum(weights * effects, axis=-1) / np.sum(weights, axis=-1), dtype=np.float64)


def between_variance(
    effects: NDArray[np.float64], variances: NDArray[np.float64], counts: NDArray[np.float64] | float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """τ² and Q of DerSimonian and Laird: τ² = max(0, (Q − (N − 1))/c), w = 1/V, c = Σw − Σw²/Σw."""
    weights = counts / variances
    total = np.sum(weights, axis=-1)
    # Σw(e − fixed mean)² is Σwe² − (Σwe)²/Σw without the loss of digits when the effects are alike.
    fixed = np.sum(weights * effects, axis=-1) / total
    q = np.sum(weights * (effects - fixed[..., None]) ** 2, axis=-1)
    c = total - np.sum(weights / variances, axis=-1) / total
    excess = q - (effects.shape[-1] - 1)
    tau = np.divide(excess, c, out=np.zeros_like(np.asarray(q)), where=(c > 0) & (excess > 0))
    return np.asarray(tau, dtype=np.float64), np.asarray(q, dtype=np.float64)


def random_effects(effects: NDArray[np.float64], variances: NDArray[np.float64]) -> Combined:
    """The combined effect size with its standard error 1/√Σw*, τ², Q, and p = 1 − Φ(CES·√Σw*).

    NaN where an effect is missing, or has no variance (its weight would be infinite).
    """
    from scipy.stats import norm

    if not (np.isfinite(effects).all() and np.all(variances > 0)):
        return Combined(*[float("nan")] * 5)
    tau, q = between_variance(effects, variances)
    error = float(1.0 / np.sqrt(np.sum(1.0 / (variances + tau))))
    value = float(ces(effects, variances))
    return Combined(value, error, float(tau), float(q), float(norm.sf(value / error)))
