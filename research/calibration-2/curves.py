"""Dose and response: monotone and linear fits, the smallest dose that shows, and power by the number of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEEDED = 1.959964 + 0.841621
"""Standard errors of an effect that is significant at the 5 % level with 80 % power."""


def isotonic(doses: Floats, values: Floats) -> Floats:
    """The closest rising values, by pooling neighbours that fall.

    >>> isotonic(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, int]] = []
    for value in values[np.argsort(doses)]:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            last, length = blocks.pop()
            mean, size = (last * length + mean * size) / (length + size), length + size
        blocks.append((mean, size))
    return np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])


@dataclass(frozen=True)
class Curve:
    """Rising means at each dose with intervals over seeds, how well three shapes fit, and the smallest dose that shows.

    `line` is the change for a log-odds of 1 by a straight line in log-odds, with its interval.
    """

    fitted: Floats
    low: Floats
    high: Floats
    fit: dict[str, float]
    smallest: float
    smallest_low: float
    smallest_high: float
    line: float
    line_low: float
    line_high: float


def curve(readings: Floats, doses: Floats, log_odds: Floats, draws: int = 1000, random_seed: int = 0) -> Curve:
    """Fit doses × seeds, each seed less its own mean at dose 0; draws resample seeds."""
    change = readings - readings[doses == 0]
    seeds = change.shape[1]
    some = np.random.default_rng(random_seed).integers(0, seeds, (draws, seeds))
    fits = np.array([isotonic(doses, change[:, drawn].mean(1)) for drawn in some])
    low, high = np.quantile(fits, [0.025, 0.975], axis=0)
    fitted = isotonic(doses, change.mean(1))
    centred = readings - readings.mean(0)
    explained = {
        "monotone": _explained(centred, fitted), "linear in the dose": _explained(centred, doses),
        "linear in log-odds": _explained(centred, log_odds),
    }  # fmt: skip
    noise = _noise(change, doses)
    smallest = [smallest_dose(doses, one, noise) for one in fits]  # few seeds drawn again would often have no noise at all
    least, most = np.quantile(smallest, [0.025, 0.975], method="closest_observation")
    shape = log_odds - log_odds.mean()
    of_seeds = shape @ centred / (shape**2).sum()
    line = float(of_seeds.mean()), *np.quantile(of_seeds[some].mean(1), [0.025, 0.975]).tolist()
    return Curve(fitted, low, high, explained, smallest_dose(doses, fitted, noise), float(least), float(most), *line)


def _explained(centred: Floats, shape: Floats) -> float:
    """Share of the variance within seeds that a multiple of a shape explains."""
    shape = shape - shape.mean()
    weight = (shape**2).sum() * centred.shape[1]
    return float((centred.T @ shape).sum() ** 2 / weight / (centred**2).sum()) if weight else 0.0


def _noise(change: Floats, doses: Floats) -> float:
    """Standard deviation of one model less its undosed twin, pooled over doses."""
    return float(np.sqrt(change[doses != 0].var(axis=1, ddof=1).mean()))


def smallest_dose(doses: Floats, fitted: Floats, noise: float) -> float:
    """The dose whose change one model would show against its undosed twin with 80 % power; infinite if no dose tried does.

    >>> smallest_dose(np.array([-1.0, 0.0, 1.0]), np.array([-2.0, 0.0, 2.0]), 1 / NEEDED)
    0.5
    """
    up = doses >= 0
    rise, at = fitted[up] - fitted[doses == 0], doses[up]
    above = np.flatnonzero(rise >= NEEDED * noise)
    if not len(above) or above[0] == 0:
        return np.inf
    last = above[0]
    share = (NEEDED * noise - rise[last - 1]) / (rise[last] - rise[last - 1])
    return float(at[last - 1] + share * (at[last] - at[last - 1]))


def power_by_items(
    items: Floats, doses: Floats, sizes: list[int], draws: int = 200, random_seed: int = 0
) -> dict[int, float]:
    """Share of random subsets of items whose T (uncorrected) is significant; `items` is items × doses × seeds."""
    from effects import slopes
    from scipy.stats import t

    random = np.random.default_rng(random_seed)
    freedom = (len(doses) - 1) * items.shape[2] - 1
    limit = float(t.ppf(0.975, freedom))
    found = {}
    for size in (size for size in sizes if size <= len(items)):
        drawn = np.array([random.choice(len(items), size, replace=False) for _ in range(draws)])
        means = items[drawn].mean(1)
        found[size] = float((slopes(means, doses).t > limit).mean())
    return found
