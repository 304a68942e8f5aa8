"""In short: the stories of each model, and how it compares with the baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter.display import Statement, interval_text, number_text, p_text, significant_text
from tiltmeter.families import find_family
from tiltmeter.families.kit.story import MIDDLE, SIGNIFICANT, Gauge, Story
from tiltmeter.reporting.headlines import interval_of
from tiltmeter.reporting.html.bars import Scale, axis, bar
from tiltmeter.reporting.html.material import Material

if TYPE_CHECKING:
    import pandas as pd

LEAST_WIDTH = 10.0


@dataclass(frozen=True)
class Entry:
    """One story as the page shows it."""

    story: Story
    compared: str
    gauge: Markup
    interval: str


@dataclass(frozen=True)
class Card:
    """The card of one model."""

    model: str
    facts: str
    stories: tuple[Entry, ...]


def cards(material: Material, stories: Sequence[Story], comparison: pd.DataFrame | None) -> list[Card]:
    """One card per model, in the order in which they were run."""
    scale, confidence = _shared_scale(stories), material.settings.confidence
    return [
        Card(
            model,
            _facts(material, model),
            tuple(_entry(story, comparison, scale, confidence) for story in stories if story.model == model),
        )
        for model in material.models
    ]


def _shared_scale(stories: Sequence[Story]) -> Scale:
    """One scale for all gauges whose neutral point is the middle, in percent, as narrow as their intervals allow."""
    gauges = [story.gauge for story in stories if story.gauge is not None and story.gauge.neutral == MIDDLE]
    edges = (edge for gauge in gauges for edge in (gauge.value, gauge.low, gauge.high) if math.isfinite(edge))
    far = [abs(edge - MIDDLE) for edge in edges]
    half = min(MIDDLE, 10.0 * math.ceil(max([LEAST_WIDTH, *far]) / 10))
    return Scale(MIDDLE - half, MIDDLE + half, MIDDLE)


def _entry(story: Story, comparison: pd.DataFrame | None, scale: Scale, confidence: float) -> Entry:
    sentence = _compared(story.head, comparison, confidence)
    return Entry(story, sentence, _drawn(story.gauge, story.tone, scale), interval_of(story, confidence))


def _drawn(gauge: Gauge | None, tone: str, scale: Scale) -> Markup:
    if gauge is None:
        return Markup("")
    if gauge.neutral != MIDDLE:  # what is compared with another share, not with a half
        scale = Scale(0, 100, gauge.neutral)
    return bar({"value": gauge.value, "low": gauge.low, "high": gauge.high}, scale, tone) + axis(scale, 4)


def _compared(head: Any, comparison: pd.DataFrame | None, confidence: float) -> str:
    """A sentence with the paired difference to the baseline, by the same scorer and measure."""
    if comparison is None or head is None:
        return ""
    keys = ("model", "benchmark", "scorer", "measure")
    rows = comparison[(comparison["by"] == "all") & np.all([comparison[key] == head[key] for key in keys], axis=0)]
    if not len(rows) or not np.isfinite(rows["difference"].iloc[0]):
        return ""
    row = rows.iloc[0]
    points = f"{number_text(abs(row['difference']))} points"
    is_shown = float(number_text(abs(row["difference"])).replace(",", "")) > 0  # 0.0 points have no direction
    nearer = {"closer": ", closer to neutral", "further": ", further from neutral"}.get(
        str(row.get("change", "")) if is_shown else "", ""
    )
    than = f"{points} {'more' if row['difference'] > 0 else 'less'} than" if is_shown else "As much as"
    interval = interval_text(row["low"], row["high"], confidence=confidence, signed=True)
    is_significant = bool(row["p_holm"] < SIGNIFICANT)
    over = f" after Holm's correction over {row['n_tests']} tests" if row["n_tests"] > 1 else ""
    items = f"{row['n']:,} {find_family(row['family']).UNIT}"
    tested = ", ".join(filter(None, [interval, f"{p_text(row['p_holm'])}{over}"]))
    return Statement(
        "{than} {baseline} on the same {items} ({tested}): {verdict}{nearer}.", "difference", baseline=row["baseline"],
        difference=row["difference"], p=row["p_holm"], than=than, items=items, tested=tested, is_significant=is_significant,
        verdict="significant" if is_significant else "not significant", nearer=nearer,
    )  # fmt: skip


def _facts(material: Material, model: str) -> str:
    """The kind, architecture and size of a model, from the manifest."""
    for source in material.sources:
        for evaluation in source.evaluations():
            facts = evaluation["model"]
            if source.models.get(facts.get("shown_as", "")) == model:
                size = facts.get("parameters")
                parts = (facts.get("kind"), facts.get("architecture"), f"{_size(size)} parameters" if size else None)
                return " · ".join(str(part) for part in parts if part)
    return "imported scores"


def _size(parameters: int) -> str:
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if parameters >= unit:
            return f"{significant_text(parameters / unit)} {name}"
    return f"{parameters:,}"
