"""Draws of prompts as sums. A draw weighs prompts; so one matrix product gives the sums of all columns for all draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judged import SUMS
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
    for count in _portions(settings.resamples, n):
        index = rng.integers(n, size=(count, n)) + n * np.arange(count)[:, None]
        parts.append(np.bincount(index.ravel(), minlength=count * n).reshape(count, n) @ sums)
    return np.concatenate(parts)


def dealt(sums: Floats, sizes: Ints, settings: Settings, *labels: str) -> Floats:
    """Draws × groups × columns: sums of groups of these sizes when prompts are dealt to them at random."""
    rng = generator(settings.seed, "dealing", *labels)
    starts = np.cumsum(sizes) - sizes
    order = np.arange(len(sums))
    found = np.empty((settings.resamples, len(sizes), sums.shape[1]))
    for draw in range(settings.resamples):
        rng.shuffle(order)
        found[draw] = np.add.reduceat(sums[order], starts)
    return found


def exchanged(first: Floats, second: Floats, settings: Settings, *labels: str) -> tuple[Floats, Floats]:
    """Draws × columns of two sides, after exchanging them in random sets."""
    rng = generator(settings.seed, "exchanging", *labels)
    flip = (rng.random((settings.resamples, len(first))) < 0.5).astype(np.float64)
    moved = flip @ (second - first)
    return first.sum(0) + moved, second.sum(0) - moved


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


def interval(measure: Entry, n: int, value: float, draws: Floats, settings: Settings) -> tuple[float, float, str]:
    """The percentile interval, widened as Student's t is for few prompts (Hesterberg, 2015), inside the possible range.

    Of a share Wilson's interval, for as many independent texts as would vary like the draws: percentiles of few prompts with
    rare texts miss the truth too often (docs/generations.md).
    """
    if n < 2:
        return np.nan, np.nan, "no interval: one prompt"
    if measure.constant("BOUNDED", False):
        return interval_of(measure, n, value, draws, settings)
    widened = value + (draws - value) * _widening(n, settings.confidence)
    low, high, note = interval_of(measure, n, value, widened, settings)
    if measure.constant("PROPORTION") and 0 < value < 1 and np.isfinite(low):
        return *_wilson(value, float(np.nanstd(draws, ddof=1)), n, settings.confidence), note
    least, most = measure.constant("RANGE") or (-np.inf, np.inf)
    return float(max(low, least)), float(min(high, most)), note


def _wilson(share: float, error: float, n: int, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share with this standard error over n prompts, with Student's quantile.

    >>> low, high = _wilson(0.5, 0.05, 1000, 0.95)  # as of 100 texts
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    from scipy.stats import t

    q = float(t.ppf(0.5 + confidence / 2, n - 1))
    spread = share * (1 - share)
    texts = spread / (error**2 * n / (n - 1)) if error > 0 else float(n)  # prompts that are all alike say nothing of others
    centre = (share + q * q / (2 * texts)) / (1 + q * q / texts)
    reach = q * np.sqrt(spread / texts + q * q / (4 * texts**2)) / (1 + q * q / texts)
    return float(centre - reach), float(centre + reach)


def _widening(n: int, confidence: float) -> float:
    """How much wider an interval is that knows it has but n prompts.

    >>> round(_widening(5, 0.95), 3), round(_widening(1000, 0.95), 3)
    (1.584, 1.002)
    """
    from scipy.stats import norm, t

    tail = 0.5 + confidence / 2
    return float(np.sqrt(n / (n - 1)) * t.ppf(tail, n - 1) / norm.ppf(tail))


def _portions(total: int, n: int) -> Iterator[int]:
    step = max(1, CELLS_AT_ONCE // max(1, n))
    for first in range(0, total, step):
        yield min(step, total - first)
