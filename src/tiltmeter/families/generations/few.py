"""The paired difference of two models over prompts, of which there are often few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import PROMPTS, Units
from tiltmeter.families.generations.draws import Floats
from tiltmeter.families.kit.differences import paired_difference
from tiltmeter.stats.design import widening
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.settings import Settings


def difference_of_few(
    known: Difference, values: Sequence[float], draws: Sequence[Floats], units: Units, measure: Entry, settings: Settings
) -> Difference:
    """Prompts, and clusters of them, are often few, so the draws are widened as those of estimates are."""
    if units.too_few:
        known = replace(known, value=values[0], baseline_value=values[1], difference=values[0] - values[1])
        return replace(known, note=f"no interval: {units.too_few}")
    wider = widening(units.n, settings.confidence, units.m)
    draws = [value + (some - value) * wider for value, some in zip(values, draws, strict=True)]
    done = paired_difference(known, values, draws, measure, settings)
    drawn = "" if units.called == PROMPTS else units.text
    return replace(done, note="; ".join(filter(None, (done.note, drawn))))
