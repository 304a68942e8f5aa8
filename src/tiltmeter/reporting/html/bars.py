"""Interval bars as inline SVG, coloured by the style sheet so that they are readable in light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tiltmeter.display import number_text, significant_text

SIGNIFICANT = 0.05
STEPS = (1, 2, 2.5, 5, 10)
MOST_TICKS = 5


@dataclass(frozen=True)
class Scale:
    """An axis from low to high that shows the neutral point, if there is one."""

    low: float
    high: float
    neutral: float = math.nan

    @classmethod
    def around(cls, values: Iterable[float], neutral: float, bounds: tuple[float, float] | None = None) -> Scale:
        """A scale for all values and the neutral point, with a margin, within the range of the measure."""
        known = [value for value in (*values, neutral) if math.isfinite(value)] or [0.0]
        low, high = min(known), max(known)
        room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
        low, high = low - room, high + room
        if bounds and bounds[0] <= min(known) and max(known) <= bounds[1]:
            low, high = max(low, bounds[0]), min(high, bounds[1])
        return cls(low, high, neutral)

    def at(self, value: float) -> float:
        """The position of a value, in percent of the width.

        >>> Scale(0, 50).at(10)
        20.0
        """
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def decimals(self) -> int:
        """How many decimals suit the width of the axis; at least one, as in the headlines."""
        return max(1, min(4, 2 - math.floor(math.log10((self.high - self.low) or 1))))

    def decimals_for(self, low: float, high: float) -> int:
        """Decimals of this axis, or as many as show two digits of the width of an interval that they would hide.

        >>> Scale(0, 1).decimals_for(0.2, 0.4), Scale(0, 1).decimals_for(0.00012, 0.00098)
        (2, 5)
        """
        width = high - low
        if not 0 < width < 5 * 10**-self.decimals:
            return self.decimals
        return max(self.decimals, min(6, 1 - math.floor(math.log10(width))))

    def text(self, value: float, decimals: int | None = None) -> str:
        """A value as text, with the decimals of this axis or others."""
        return number_text(value, self.decimals if decimals is None else decimals)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions and labels of round numbers along the axis; the neutral point has its own line."""
        rough = (self.high - self.low) / MOST_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in STEPS if step * power >= rough)
        first = math.ceil(self.low / step)
        values = [(first + n) * step for n in range(MOST_TICKS + 2) if (first + n) * step <= self.high]
        return [(self.at(value), significant_text(value, 10)) for value in values]


def tone(row: Any, leaning: bool) -> str:
    """The direction of a value's lean: towards (above neutral), away (below), or unsure if not distinguishable.

    The test decides, corrected where several groups were tested; without a test, the interval decides.
    """
    value, low, high, neutral = (float(row[name]) for name in ("value", "low", "high", "neutral"))
    if not leaning or not math.isfinite(neutral):
        return "plain"
    p = next((float(row[name]) for name in ("p_holm", "p") if math.isfinite(float(row[name]))), math.nan)
    sure = p < SIGNIFICANT if math.isfinite(p) else value != neutral and not low <= neutral <= high and math.isfinite(low)
    if not sure:
        return "unsure"
    return "towards" if value > neutral else "away"


def bar(row: Any, scale: Scale, colour: str = "plain") -> Markup:
    """A value as a dot on its interval, with the neutral point as a line. It repeats the numbers beside it."""
    value, low, high = (float(row[name]) for name in ("value", "low", "high"))
    parts = []
    if math.isfinite(scale.neutral):
        parts.append(f'<path class="neutral" d="M{scale.at(scale.neutral)} 0V20"/>')
    if math.isfinite(low) and math.isfinite(high):
        parts.append(f'<path class="interval" d="M{scale.at(low)} 10H{scale.at(high)}"/>')
    if math.isfinite(value):
        parts.append(f'<path class="dot" d="M{scale.at(value)} 10h0"/>')
    return Markup(
        f'<svg class="bar {colour}" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(parts)}</svg>"
    )


def axis(scale: Scale, parts: int = 0) -> Markup:
    """The numbers above a column of bars: round ones, or `parts` equal parts with the neutral point in the middle."""
    step = (scale.high - scale.low) / parts if parts else 0.0
    even = [scale.low + step * n for n in range(parts + 1)] if parts else []
    ticks = [(scale.at(value), f"{value:g}") for value in even] or scale.ticks
    labels = "".join(f'<span style="left:{at}%">{label}</span>' for at, label in ticks)
    return Markup(f'<span class="axis" aria-hidden="true">{labels}</span>')
