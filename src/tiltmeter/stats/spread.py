"""Variances over groups: with resampled items, and with groups permuted, which is what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Design, Floats
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.measured import with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p


class Spread(NamedTuple):
    """The variance of group means: observed, with resampled items in each group, and with items assigned at random."""

    value: float
    draws: Floats
    permuted: Floats
    n_groups: int


def variance(means: Floats) -> Floats:
    """Compute the sample variance over the last axis, the groups."""
    return np.asarray(np.var(means, axis=-1, ddof=1), dtype=np.float64)


def spread_over_groups(values: Floats, groups: NDArray[Any], rng: np.random.Generator, repeats: int) -> Spread | None:
    """Compute the variance of group means; None if there are fewer than two groups or only one item in each group."""
    codes, sizes = np.unique(groups.astype(str), return_inverse=True, return_counts=True)[1:]
    if len(sizes) < 2 or sizes.max() < 2:
        return None
    order = np.argsort(codes, kind="stable")
    ordered, start = values[order], np.cumsum(sizes) - sizes

    def spread(rows: Floats) -> Floats:
        return variance(np.add.reduceat(rows, start, axis=-1) / sizes)

    drawn = Design.independent(len(ordered), codes[order].astype(np.int64)).indices(repeats, rng)
    draws = np.concatenate([spread(ordered[index]) for index in drawn])
    return Spread(float(spread(ordered)), draws, permuted_spread(values, groups, rng, repeats), len(sizes))


def estimate_spread(
    row: Estimate, measure: Entry, values: Floats, groups: NDArray[Any], rng: np.random.Generator, settings: Settings
) -> Estimate:
    """Estimate the variance of group means; p is from assigning the items to the groups at random."""
    found = spread_over_groups(values, groups, rng, settings.resamples)
    if found is None:
        return replace(row, note="not computed: fewer than 2 groups, or only one item in each group")
    row = replace(
        row, value=found.value, p=permutation_p(found.value, found.permuted, 0.0), details={"n_groups": found.n_groups}
    )
    note = f"sample variance over {found.n_groups} groups; p from assigning the items to groups at random"
    return replace(with_interval(row, measure, row.n, found.draws, settings), note=note)


def permuted_spread(values: Floats, groups: NDArray[Any], rng: np.random.Generator, repeats: int) -> Floats:
    """Compute the variance of group means when items are assigned to the groups at random."""
    codes, sizes = np.unique(groups.astype(str), return_inverse=True, return_counts=True)[1:]
    ordered, start = values[np.argsort(codes, kind="stable")], np.cumsum(sizes) - sizes
    orders = Design.independent(len(values)).permute(repeats, rng)[0]
    return np.concatenate([variance(np.add.reduceat(ordered[order], start, axis=-1) / sizes) for order in orders])


def spread_over_shared_units(scores: Floats, rng: np.random.Generator, repeats: int) -> tuple[Floats, Floats]:
    """Compute the variance of group means (rows) over units (columns) that all groups share.

    Returns:
        The variance with resampled units, and with each unit's scores assigned to the groups at random.
    """
    n_groups, units = scores.shape
    weights = Design.independent(units).weights(repeats, rng) / units
    group, unit = np.divmod(np.arange(scores.size), units)
    design = Design(unit, np.zeros_like(unit), group)
    permuted = [
        sums_of_groups(scores.reshape(-1, 1), dealt, n_groups)[..., 0] for dealt in design.permute_groups(repeats, rng)
    ]
    return variance(weights @ scores.T), variance(np.concatenate(permuted) / units)


def sums_of_groups(rows: Floats, groups: NDArray[np.int64], n_groups: int) -> Floats:
    """Add up rows by group for every permutation of the groups (permutations × rows): permutations × groups × columns."""
    count = len(groups)
    place = (groups + n_groups * np.arange(count)[:, None]).ravel()
    columns = [np.bincount(place, np.broadcast_to(values, groups.shape).ravel(), count * n_groups) for values in rows.T]
    return np.asarray(np.stack(columns, axis=1).reshape(count, n_groups, -1), dtype=np.float64)


def names_of_rows(parts: Sequence[Floats]) -> NDArray[np.int64]:
    """Number the groups of concatenated parts."""
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])
