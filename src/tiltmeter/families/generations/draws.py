"""Draws of prompts as sums. A draw weighs prompts; so one matrix product gives the sums of all columns for all draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judge_scores import SUMS, Judged
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.resampling import exchange_sums
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import Units

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CELLS_AT_ONCE = 8_000_000
COLUMN = {name: n for n, name in enumerate(SUMS)}


def drawn(sums: Floats, settings: Settings, *labels: str) -> Floats:
    """Draws × columns: sums over prompts drawn with replacement.

    The same labels and the same number of prompts give the same draws, so models and judges share them.
    """
    rng = generator(settings.seed, "generations", *labels, str(len(sums)))
    return Design.independent(len(sums)).drawn_sums(sums, settings.resamples, rng, CELLS_AT_ONCE)


def by_cluster(sums: Floats, codes: Ints | None) -> Floats:
    """A row of sums for each cluster, in the order of the codes; the prompts themselves where there are none."""
    return sums if codes is None else Design.clustered(codes).sums(sums)


def drawn_group(judged: Judged, rows: Ints, settings: Settings, *labels: str) -> Floats:
    """The draws of some prompts, or of their clusters.

    Clusters of one group are drawn within it, those that several groups share among themselves, and the same for all groups,
    so that what groups share cancels in a gap. Of a group that has a single cluster prompts are drawn, for want of more:
    that is less than its error (and it has no interval of its own).
    """
    if judged.clusters is None:
        return drawn(judged.sums[rows], settings, judged.benchmark, *labels)
    codes, shared = judged.clusters.codes, judged.clusters.shared
    pool = np.unique(codes[shared[codes]])
    common = shared[codes[rows]] & (len(pool) > 1)
    own = rows[~common]
    alone = len(np.unique(codes[own])) < 2
    found = np.zeros((settings.resamples, len(SUMS)))
    if len(own):
        found += drawn(by_cluster(judged.sums[own], None if alone else codes[own]), settings, judged.benchmark, *labels)
    if common.any():
        sums = np.zeros((len(pool), len(SUMS)))
        np.add.at(sums, np.searchsorted(pool, codes[rows[common]]), judged.sums[rows[common]])
        found += drawn(sums, settings, judged.benchmark, "shared clusters")
    return found


def drawn_together(judged: Judged, sums: Floats, settings: Settings, *labels: str) -> Floats:
    """Draws of sums that have a row for each prompt, all groups in one: of prompts, or of their clusters."""
    codes = judged.clusters.codes if judged.clusters else None
    return drawn(by_cluster(sums, codes), settings, judged.benchmark, *labels)


def compare_sums(
    row: Difference,
    measure: Entry,
    pair: tuple[Judged, Judged],
    groups: Sequence[Ints],
    value: Callable[[Floats], Floats],
    draws: Sequence[Floats],
    units: Units,
    settings: Settings,
) -> Difference:
    """Compare a value of the groups' sums (the last two axes) by two models."""

    def exchanged() -> tuple[Floats, bool]:
        design = Design.clustered(pair[0].clusters.codes if pair[0].clusters else np.arange(len(pair[0].sums)))
        rng = generator(settings.seed, "exchanging models", pair[0].benchmark)
        ours, theirs, is_exact = exchange_sums(design, (pair[0].sums, pair[1].sums), groups, settings.resamples, rng)
        return value(ours) - value(theirs), is_exact

    now = [float(value(np.stack([one.sums[at].sum(0) for at in groups]))) for one in pair]
    return paired_difference(row, now, [value(one) for one in draws], measure, settings, units=units, exchanged=exchanged)


def column_of(sums: Floats, name: str) -> Floats:
    """One column, with an axis of length 1 for a measure to sum over."""
    return sums[..., COLUMN[name], None]


def measured(measure: Entry, sums: Floats, **more: Floats) -> Floats:
    """A measure of sums: the last axis are the columns."""
    columns = {name: column_of(sums, name) for name in measure.parameters if name in COLUMN}
    return np.asarray(measure.function(**columns, **more), dtype=np.float64)


def gap_of(measure: Entry, sums: Floats, other: Floats) -> Floats:
    """A measure of one side's sums against the other's."""
    read = [name for name in measure.parameters if name.startswith("other_")]
    return measured(measure, sums, **{name: column_of(other, name.removeprefix("other_")) for name in read})
