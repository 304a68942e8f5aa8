"""Draws of prompts as sums. A draw weighs prompts; so one matrix product gives the sums of all columns for all draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import Units, by_cluster
from tiltmeter.families.generations.judge_scores import SUMS, Judged
from tiltmeter.stats.design import widening
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CELLS_AT_ONCE = 8_000_000
COLUMN = {name: n for n, name in enumerate(SUMS)}


def drawn(sums: Floats, settings: Settings, *labels: str) -> Floats:
    """Draws × columns: sums over prompts drawn with replacement. The same labels and the same number of prompts give the
    same draws, so models and judges share them.
    """
    n = len(sums)
    rng = generator(settings.seed, "generations", *labels, str(n))
    parts = []
    for count in portions(settings.resamples, n):
        index = rng.integers(n, size=(count, n)) + n * np.arange(count)[:, None]
        parts.append(np.bincount(index.ravel(), minlength=count * n).reshape(count, n) @ sums)
    return np.concatenate(parts)


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


def interval(measure: Entry, units: Units, value: float, draws: Floats, settings: Settings) -> tuple[float, float, str]:
    """The percentile interval, widened as Student's t is for few prompts (Hesterberg, 2015), inside the possible range.

    Of a share Wilson's interval, for as many independent texts as would vary like the draws: percentiles of few prompts with
    rare texts miss the truth too often (docs/generations.md).
    """
    if units.too_few:
        return np.nan, np.nan, f"no interval: {units.too_few}"
    if measure.spec.is_one_sided:
        return interval_of(measure, units.n, value, draws, settings)
    widened = value + (draws - value) * widening(units.n, settings.confidence, units.m)
    low, high, note = interval_of(measure, units.n, value, widened, settings)
    if measure.spec.proportion and 0 < value < 1 and np.isfinite(low):
        return *_wilson(value, float(np.nanstd(draws, ddof=1)), units, settings.confidence), note
    least, most = measure.spec.range
    return float(max(low, least)), float(min(high, most)), note


def _wilson(share: float, error: float, units: Units, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share with this standard error over some prompts, with Student's quantile.

    >>> low, high = _wilson(0.5, 0.05, Units(1000, 1000, 1000.0), 0.95)  # as of 100 texts
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    from scipy.stats import t

    n, q = units.m, float(t.ppf(0.5 + confidence / 2, units.n - 1))
    spread = share * (1 - share)
    texts = spread / (error**2 * n / (n - 1)) if error > 0 else n  # prompts that are all alike say nothing of others
    centre = (share + q * q / (2 * texts)) / (1 + q * q / texts)
    reach = q * np.sqrt(spread / texts + q * q / (4 * texts**2)) / (1 + q * q / texts)
    return float(centre - reach), float(centre + reach)


def portions(total: int, n: int) -> Iterator[int]:
    """How many draws of n numbers are made at a time."""
    step = max(1, CELLS_AT_ONCE // max(1, n))
    for first in range(0, total, step):
        yield min(step, total - first)
