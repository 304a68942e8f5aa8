"""The power of a measure, by simulation: the scores of each pair are reassigned with a given lean, and tested."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.pairs.paired import Floats
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.resampling import Sample, statistic

# All are tried, starting from neutral: kls does not always grow with the lean (a pure shift of the mean leaves it at 50).
LEANS = (0.525, 0.55, 0.575, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Question:
    """The wanted power, the level, and how to simulate."""

    wanted: float
    alpha: float
    draws: int
    seed: int


@dataclass(frozen=True)
class Deal:
    """The pairs of one bias type, with random numbers that decide which sentence gets the higher score."""

    bias_type: str
    sample: Sample
    chance: Floats

    @cached_property
    def _dealt(self) -> dict[float, dict[str, Floats]]:
        return {}

    def sides(self, lean: float) -> dict[str, Floats]:
        """Scores of both sentences in every draw. All leans and measures share the same random numbers."""
        if lean not in self._dealt:
            stereo, anti = self.sample.columns["stereo"], self.sample.columns["anti"]
            high, low, stereotypical = np.maximum(stereo, anti), np.minimum(stereo, anti), self.chance < lean
            self._dealt[lean] = {"stereo": np.where(stereotypical, high, low), "anti": np.where(stereotypical, low, high)}
        return self._dealt[lean]


def simulated(entry: Entry, deal: Deal, question: Question) -> tuple[float | None, float, float]:
    """The smallest lean that is detected, the power there, and the measure's median there (interpolated)."""

    def dealt(lean: float) -> Floats:
        return statistic(entry, {**deal.sample.columns, **deal.sides(lean)}, deal.sample.parts)

    neutral = dealt(0.5)
    centre = neutral_of(entry) if entry.spec.is_one_sided else float(np.mean(neutral))
    edge = float(np.quantile(np.abs(neutral - centre), 1 - question.alpha))
    before, power_before, value = 0.5, question.alpha, float(np.median(neutral))
    for lean in LEANS:
        values = dealt(lean)
        detected, median = float(np.mean(np.abs(values - centre) > edge)), float(np.median(values))
        if detected >= question.wanted:
            share = (question.wanted - power_before) / (detected - power_before)
            return before + share * (lean - before), question.wanted, value + share * (median - value)
        before, power_before, value = lean, detected, median
    return None, power_before, value
