"""Options that several studies share: their help texts, and checks of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.stats.settings import Settings

RATES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
LEAST_ITEMS = 3
Ints = NDArray[np.int64]

Seed = Annotated[int, "Seed of all random draws."]
Resamples = Annotated[int, "Bootstrap resamples."]
Confidence = Annotated[float, "Confidence of the intervals."]
Repeats = Annotated[int, "Subsamples drawn at each rate."]
Rates = Annotated[list[float] | None, "Share of the items kept in a subsample; repeatable. Default: 0.3 to 0.8."]
MeasureNames = Annotated[list[str] | None, "Measure; repeatable. Default: all that apply."]


def check_settings(seed: int = 0, resamples: int = 1000, confidence: float = 0.95) -> Settings:
    """The settings; raises an error if they cannot give meaningful intervals."""
    settings = Settings(resamples, confidence, seed)
    settings.check()
    return settings


def check_sampling(repeats: int, rates: Sequence[float] | None) -> tuple[float, ...]:
    """The rates to sample at; raises an error for invalid ones."""
    chosen = tuple(sorted(set(rates or RATES)))
    wrong = [rate for rate in chosen if not 0 < rate < 1]
    if wrong:
        raise UsageError(
            f"A rate must be between 0 and 1, such as 0.3, not {wrong[0]:g}.",
            code="out-of-range",
            option="rates",
            value=wrong[0],
        )
    if repeats < 2:
        raise UsageError(
            f"--repeats must be at least 2, not {repeats}; use 100 or more.",
            code="out-of-range",
            option="--repeats",
            value=repeats,
        )
    return chosen


def subsamples(stratum: Ints, rate: float, repeats: int, rng: np.random.Generator) -> Ints:
    """repeats × m positions: of each stratum ceil(n·rate) items, without replacement, in the order of the strata.

    >>> subsamples(np.array([0, 0, 0, 1, 1]), 0.5, 2, np.random.default_rng(0)).shape
    (2, 3)
    """
    sizes = np.bincount(stratum)
    # 0.7 · 10 is a little above 7 in binary, which must not become 8.
    return draw_within(stratum, np.ceil(np.round(sizes * rate, 9)).astype(np.int64), repeats, rng)


def draw_within(stratum: Ints, sizes: Ints, repeats: int, rng: np.random.Generator) -> Ints:
    """repeats × sum(sizes) positions: `sizes` items of each stratum, without replacement."""
    parts = []
    for code, size in enumerate(sizes):
        here = np.flatnonzero(stratum == code)
        order = np.argsort(rng.random((repeats, len(here))), axis=1)[:, :size]
        parts.append(here[order])
    return np.concatenate(parts, axis=1)
