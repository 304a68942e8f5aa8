"""Before and after debiasing: how far probability and rank fell, on the same sentences, with paired intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.families.slots.fills import Fills
from tiltmeter.measures.coverage import coverage
from tiltmeter.measures.mnt import mnt
from tiltmeter.measures.mps import mps
from tiltmeter.stats.resampling import generator, percentile_interval
from tiltmeter.stats.settings import Settings

Floats = NDArray[np.float64]
Draws = dict[tuple[str, str], Floats]


def draws_of(fills: Fills, settings: Settings) -> Draws:
    """(measure, group) → the value on all sentences, then on resampled sentences, which are the same for every model."""
    n = len(fills.reason)
    index = generator(settings.seed, "debiasing", fills.benchmark).integers(0, n, (settings.resamples, n))
    index = np.concatenate([np.arange(n)[None], index])
    draws: Draws = {}
    for group in fills.rank:
        rank, probability = fills.rank[group][index], fills.probability[group][index]
        draws |= {("mps", group): mps(probability), ("mnt", group): mnt(rank, fills.k), ("coverage", group): coverage(rank)}
    return draws


def changes(base: Draws, other: Draws) -> Draws:
    """Percent change of every value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {key: 100 * (other[key] / base[key] - 1) for key in base if key in other}


def with_interval(name: str, draws: Floats, settings: Settings) -> dict[str, float]:
    """Columns with the value and its interval."""
    defined = draws[1:][np.isfinite(draws[1:])]
    low, high = percentile_interval(defined, settings.confidence) if len(defined) else (draws[0], draws[0])
    return {name: float(draws[0]), f"{name}_low": float(low), f"{name}_high": float(high)}


def change_rows(base: Fills, other: Fills, medians: dict[str, float], settings: Settings) -> Iterator[dict[str, Any]]:
    """One row per group that both models have a match for."""
    after, before = draws_of(other, settings), draws_of(base, settings)
    moved = changes(before, after)
    for group in other.rank:
        if not all(np.isfinite(side["mps", group][0]) for side in (after, before)):
            continue
        row: dict[str, Any] = {"benchmark": other.benchmark, "model": other.model, "group": group, "n": len(other.reason)}
        for measure in ("mps", "mnt"):
            row |= with_interval(measure, after[measure, group], settings)
            row |= with_interval(f"{measure}_change", moved[measure, group], settings)
        yield row | with_interval("coverage", after["coverage", group], settings) | {"median_rank": medians[group]}
