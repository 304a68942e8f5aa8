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
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.intervals import percentile_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import exact_proportion_interval

Floats = NDArray[np.float64]
Draws = dict[tuple[str, str], Floats]


def draws_of(fills: Fills, settings: Settings) -> Draws:
    """(measure, group) → the value on all sentences, then on resampled sentences, which are the same for every model."""
    n = len(fills.reason)
    rng = generator(settings.seed, "debiasing", fills.benchmark)
    index = np.concatenate([np.arange(n)[None], *Design.independent(n).indices(settings.resamples, rng)])
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
    """Columns with the value and its interval; NaN where the value is undefined, whatever the resamples are."""
    defined = draws[1:][np.isfinite(draws[1:])]
    known = bool(len(defined)) and bool(np.isfinite(draws[0]))
    low, high = percentile_interval(defined, settings.confidence) if known else (draws[0], draws[0])
    return {name: float(draws[0]), f"{name}_low": float(low), f"{name}_high": float(high)}


def has_match(draws: Draws, group: str) -> bool:
    """Return whether any sentence has a match of the group."""
    return bool(draws["coverage", group][0] > 0)


def change_rows(base: Fills, other: Fills, medians: dict[str, float], settings: Settings) -> Iterator[dict[str, Any]]:
    """One row per group. A group without a match keeps its row: coverage 0, and a note that says what is missing."""
    after, before = draws_of(other, settings), draws_of(base, settings)
    moved = changes(before, after)
    for group in other.rank:
        row: dict[str, Any] = {"benchmark": other.benchmark, "model": other.model, "group": group, "n": len(other.reason)}
        for measure in ("mps", "mnt"):
            row |= with_interval(measure, after[measure, group], settings)
            row |= with_interval(f"{measure}_change", moved[measure, group], settings)
        row |= _coverage(after["coverage", group], len(other.reason), settings) | {"median_rank": medians[group]}
        yield row | {"note": _note(group, before, after, base.model, other.model, other.k, medians[group])}


def _coverage(draws: Floats, n: int, settings: Settings) -> dict[str, float]:
    """Coverage with its interval; the exact one where all resamples agree, since no width would claim certainty."""
    row = with_interval("coverage", draws, settings)
    if np.ptp(draws) > 0:
        return row
    low, high = exact_proportion_interval(round(draws[0] * n), n, settings.confidence)
    return row | {"coverage_low": low / 100, "coverage_high": high / 100}


def _note(group: str, before: Draws, after: Draws, base: str, model: str, k: int, median: float) -> str:
    """Why values of a row are missing; empty if none is."""
    sides = {base: before, model: after}
    lacking = [name for name, draws in sides.items() if not has_match(draws, group)]
    notes = [f"no term of the top {k} matches by {' and by '.join(lacking)}"] if lacking else []
    return "; ".join([*notes, *(["no term is one token"] if np.isnan(median) else [])])
