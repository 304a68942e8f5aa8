"""Readings of models whose tilt is known: how they follow the dose, how much they vary otherwise, and who reads it best.

Readings are an array of metrics × cells × seeds: a cell is a dose of one domain, and every seed has a model in every cell.
Seeds share a text, but for whom it is about, and the order of the training, so a seed lifts all of its models alike. That
makes two kinds of noise: `error`, what is left within a seed, for comparisons of doses, and `spread`, what another seed
would give, for a single model. Both are pooled over all cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
POWER = 0.8
FINITE = 1e-12
"""Relative to the readings: less is rounding, and no variation."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of each metric, their degrees of freedom, and the residuals within seed and cell."""

    error: Floats
    error_df: float
    spread: Floats
    spread_df: Floats
    residuals: Floats


@dataclass(frozen=True)
class Found:
    """A value for each metric, its standard error, its interval, and p against 0."""

    value: Floats
    error: Floats
    low: Floats
    high: Floats
    p: Floats


def noise(readings: Floats) -> Noise:
    """A two-way layout without replicates. With one seed nothing is known about noise: NaN.

    The spread is the variance over seeds within cells; its degrees of freedom are Satterthwaite's, since a seed that lifts
    all cells counts once and not once for each cell.
    """
    metrics, cells, seeds = readings.shape
    unknown = np.full(metrics, np.nan)
    if seeds < 2 or cells < 2:
        return Noise(unknown, 0.0, unknown, unknown, np.zeros((metrics, cells * seeds)))
    of_seed, of_cell = readings.mean(1, keepdims=True), readings.mean(2, keepdims=True)
    whole = readings.mean((1, 2), keepdims=True)
    residuals = readings - of_seed - of_cell + whole
    df = float((seeds - 1) * (cells - 1))
    between = cells * ((of_seed - whole) ** 2).sum((1, 2)) / (seeds - 1)
    within = (residuals**2).sum((1, 2)) / df
    parts = between / cells, within * (cells - 1) / cells
    scale = np.abs(readings).max((1, 2)) * FINITE
    spread = sum(parts)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_df = spread**2 / (parts[0] ** 2 / (seeds - 1) + parts[1] ** 2 / df)
    error, spread = (np.where(np.sqrt(one) > scale, np.sqrt(one), 0.0) for one in (within, spread))
    return Noise(error, df, spread, np.where(spread > 0, spread_df, df), residuals.reshape(metrics, cells * seeds))


def slopes(readings: Floats, doses: Floats, noise: Noise, confidence: float = 0.95) -> Found:
    """The change for a dose of 1, by least squares within seeds, over the cells of one domain."""
    away = doses - doses.mean()
    weight = float((away**2).sum())
    value = readings.mean(2) @ away / weight
    return _with_interval(value, noise.error / sqrt(readings.shape[2] * weight), noise.error_df, confidence)


def differences(readings: Floats, reference: Floats, noise: Noise, confidence: float = 0.95) -> Found:
    """Cell by cell (metrics × cells × seeds) against one cell of the same seeds, paired: flattened to metrics × cells."""
    value = (readings - reference).mean(2)
    error = np.repeat((noise.error * sqrt(2 / readings.shape[2]))[:, None], value.shape[1], 1)
    return _with_interval(value, error, noise.error_df, confidence)


def levels(readings: Floats, point: Floats, noise: Noise, confidence: float = 0.95) -> Found:
    """Distance of the mean over seeds of one cell (metrics × seeds) from a point: drift, and the neutral point."""
    return _with_interval(readings.mean(1) - point, noise.spread / sqrt(readings.shape[1]), noise.spread_df, confidence)


def _with_interval(value: Floats, error: Floats, df: float | Floats, confidence: float) -> Found:
    from scipy.stats import t

    df = np.maximum(df, 1e-9)
    half = t.ppf(0.5 + confidence / 2, df) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * t.sf(np.abs(value) / error, df)
    p = np.where(error == 0, np.where(value == 0, 1.0, 0.0), p)
    return Found(value, error, value - half, value + half, p)


def alike(first: Noise, second: Noise) -> Floats:
    """Correlate the errors of two readings of the same doses and seeds: the correlation of their residuals."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unit, other_unit = (some.residuals / np.linalg.norm(some.residuals, axis=1)[:, None] for some in (first, second))
    return np.asarray(np.nan_to_num((unit * other_unit).sum(1)))


def ratio(above: Found, below: Found, together: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
    """One change as a share of another, with Fieller's interval (1954); none where the other is not clear of 0.

    `together` is the correlation of their errors. If both have the noise of the same cells and seeds, the interval is exact
    for normal errors.

    >>> one = lambda *some: Found(*(np.array([x]) for x in some))
    >>> [round(float(x[0]), 2) for x in ratio(one(5.0, 1.0, 3.0, 7.0, 0.0), one(10.0, 1.0, 8.0, 12.0, 0.0))]
    [0.5, 0.29, 0.75]
    """
    a, b, ha, hb = above.value, below.value, above.high - above.value, below.high - below.value
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(b == 0, np.nan, a / b)
        middle = a * b - together * ha * hb
        root = np.sqrt(np.maximum(middle**2 - (b**2 - hb**2) * (a**2 - ha**2), 0.0))
        low, high = ((middle + sign * root) / (b**2 - hb**2) for sign in (-1, 1))
        low, high = np.minimum(low, value), np.maximum(high, value)  # without noise, rounding may put an end beyond it
    clear = np.abs(b) > hb
    return value, np.where(clear, low, np.nan), np.where(clear, high, np.nan)


def monotonicity(readings: Floats, doses: Floats, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Spearman's ρ of reading and dose within each seed, averaged, with an interval (Bonett and Wright, 2000)."""
    from scipy.stats import norm, rankdata

    from tiltmeter.stats.correlations import pearson

    cells, seeds = readings.shape[1:]
    rho = pearson(rankdata(readings, axis=1).swapaxes(1, 2), rankdata(doses))
    value = np.asarray(rho.mean(1), dtype=np.float64)
    n = cells * seeds - (seeds - 1)
    if n <= 3:
        return value, np.full(len(value), -1.0), np.full(len(value), 1.0)
    z, half = (
        np.arctanh(np.clip(value, -0.999, 0.999)),
        norm.ppf(0.5 + confidence / 2) * np.sqrt((1 + value**2 / 2) / (n - 3)),
    )
    return value, np.tanh(z - half), np.maximum(np.tanh(z + half), value)


def sensitivity(slope: Found, noise: Noise, confidence: float = 0.95) -> tuple[Floats, Floats, Floats, Floats]:
    """|Change per dose| in units of the spread: value, standard error, and its interval, whose lower end is at least 0."""
    from scipy.stats import t

    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(slope.value == 0, 0.0, np.abs(slope.value) / noise.spread)
        error = np.sqrt((slope.error / noise.spread) ** 2 + value**2 / (2 * noise.spread_df))
        error = np.where(noise.spread == 0, 0.0, error)
        half = t.ppf(0.5 + confidence / 2, np.maximum(noise.spread_df, 1e-9)) * error
    return value, error, np.maximum(value - half, 0.0), value + half


def smallest_dose(sensitive: Floats, noise: Noise, confidence: float = 0.95) -> Floats:
    """The dose at which one model differs from an undosed one of another seed in 80 % of cases. Above 1: never."""
    from scipy.stats import norm

    with np.errstate(divide="ignore"):
        needed: Floats = (norm.ppf(0.5 + confidence / 2) + norm.ppf(POWER)) * sqrt(2) / sensitive
    return needed


def ranking(sensitive: Floats, slope: Found, noise: Noise, confidence: float = 0.95) -> tuple[Ints, Ints, Ints]:
    """Places by sensitivity, and the best and the worst place that each could have: ties that cannot be separated.

    All metrics read the same models, so their errors go together: the difference of two has a smaller error the more alike
    their residuals are.
    """
    from scipy.stats import norm

    order = np.lexsort((np.arange(len(sensitive)), -sensitive))
    place = np.empty(len(sensitive), dtype=np.int64)
    place[order] = np.arange(1, len(sensitive) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = np.sign(slope.value)[:, None] * noise.residuals / np.linalg.norm(noise.residuals, axis=1)[:, None]
        alike = np.nan_to_num(unit @ unit.T)
        of_slope = np.where(noise.spread > 0, slope.error / noise.spread, 0.0)
        df, finite = np.nan_to_num(noise.spread_df, nan=1.0), np.where(np.isfinite(sensitive), sensitive, 0.0)
        variance = of_slope[:, None] ** 2 + of_slope**2 - 2 * alike * of_slope[:, None] * of_slope
        scaled = finite / np.sqrt(2 * df)
        variance += scaled[:, None] ** 2 + scaled**2 - 2 * alike**2 * scaled[:, None] * scaled
        apart = sensitive[:, None] - sensitive
        clearly = apart > norm.ppf(0.5 + confidence / 2) * np.sqrt(np.maximum(variance, 0.0))
    return place, 1 + clearly.sum(0), len(sensitive) - clearly.sum(1)
