"""Measures of sums within clusters of rows, which are resampled whole: value, draws, test, and the difference of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Bools, Design, Floats
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.measured import neutral_of, with_interval
from tiltmeter.stats.resampling import exchange_models
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import Units

Exchanges = Sequence[tuple[str, str]]
"""Columns that change places in a test."""


@dataclass(frozen=True)
class Totals:
    """Sums within clusters of the columns that a measure reads."""

    measure: Entry
    columns: Mapping[str, Floats]
    design: Design

    @classmethod
    def of(cls, measure: Entry, counts: Mapping[str, Floats], design: Design) -> Totals:
        """Add up those counts of each row that the measure reads."""
        return cls(measure, design.totals({name: counts[name] for name in measure.parameters}), design)

    @property
    def value(self) -> float:
        """The measure of all rows."""
        return float(self.measure.function(**self.columns))

    def draws(self, weights: Floats) -> Floats:
        """Compute the measure of resampled clusters."""
        drawn = self.measure.function(**{name: values * weights for name, values in self.columns.items()})
        return np.asarray(drawn, dtype=np.float64)

    def estimated(
        self, row: Estimate, exchanges: Exchanges, rng: np.random.Generator, settings: Settings, level: float | None = None
    ) -> Estimate:
        """Fill in the value of a row, its interval (at another level, if so) and p of exchanging columns in clusters."""
        draws = self.draws(self.design.weights(settings.resamples, rng))
        row = replace(row, value=self.value, p=self.p(exchanges, rng, settings))
        of_interval = replace(settings, confidence=level or settings.confidence)
        return with_interval(row, self.measure, self.design.n_clusters, draws, of_interval)

    def p(self, exchanges: Exchanges, rng: np.random.Generator, settings: Settings) -> float:
        """Test that exchanging columns in random clusters changes nothing; exact for few clusters."""
        neutral = neutral_of(self.measure)
        if np.isnan(neutral):
            return neutral
        ways, is_exact = self.design.flip(settings.resamples, rng)
        draws = np.concatenate([self.measure.function(**self._exchanged(exchanges, flips)) for flips in ways])
        return permutation_p(self.value, np.asarray(draws, dtype=np.float64), neutral, is_exact=is_exact)

    def _exchanged(self, exchanges: Exchanges, flips: Bools) -> dict[str, Floats]:
        swapped = {name: np.broadcast_to(values, flips.shape) for name, values in self.columns.items()}
        for first, second in exchanges:
            if first in self.columns and second in self.columns:
                one, other = self.columns[first], self.columns[second]
                swapped |= {first: np.where(flips, other, one), second: np.where(flips, one, other)}
        return swapped


def compare_totals(
    row: Difference, ours: Totals, theirs: Totals, rng: np.random.Generator, settings: Settings
) -> Difference:
    """Compare two models on the same rows: the same clusters are drawn for both, p exchanges the models in clusters."""
    n, measure = ours.design.n_clusters, ours.measure
    weights = ours.design.weights(settings.resamples, rng)
    ways = exchange_models(
        Design.independent(n),
        (ours.columns, theirs.columns),
        lambda side: np.asarray(measure.function(**side), dtype=np.float64),
        settings.resamples,
        rng,
    )
    p = permutation_p(ours.value - theirs.value, ways[0], 0.0, is_exact=ways[1])
    draws, units = [side.draws(weights) for side in (ours, theirs)], Units.independent(n)
    return paired_difference(row, [ours.value, theirs.value], draws, measure, settings, p, units)
