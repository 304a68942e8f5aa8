"""Stories for the terminal: a headline per model and benchmark, its interval drawn, and what is behind it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tiltmeter.display import interval_text, number_text
from tiltmeter.families.kit.story import MIDDLE, Gauge, Story
from tiltmeter.reporting.wrapping import filled

if TYPE_CHECKING:
    from rich.text import Text

INDENT = "  "
DRAWN = 50
"""Columns of a drawn interval, where there is room."""
READABLE = 100
"""Longer lines of prose are hard to read."""
LEAST_REACH = 10.0
CERTAIN = ("towards", "away", "sure")
NUMBER = re.compile(r"[+−]?[\d,]+(?:\.(?P<decimals>\d+))?")


def headline_blocks(
    stories: Sequence[Story], width: int | None, *, whole: bool = False, confidence: float = 0.95
) -> Iterator[Text]:
    """Headlines, each with its first sentence, or with all of them. Without a width (a pipe) nothing is drawn or broken."""
    from rich.text import Text

    readable = min(width, READABLE) if width else None
    for story in stories:
        style = "bold magenta" if story.tone in CERTAIN else "bold"
        yield Text(filled(headline(story, confidence), readable, then=INDENT), style=style)
        if story.gauge is not None and width:
            alike = [other for other in stories if other.benchmark == story.benchmark]
            yield Text(INDENT + drawn(story.gauge, reach_of(alike), min(DRAWN, width - 16)))
        for sentence in story.sentences if whole else story.sentences[:1]:
            yield Text(filled(sentence, readable, INDENT, INDENT))
        if story.worst:
            yield Text(filled(story.worst, readable, INDENT, INDENT))
        yield Text()


def headline(story: Story, confidence: float = 0.95) -> str:
    """One line: model, benchmark, verdict, and the number with its interval."""
    number = " ".join(filter(None, [story.number, story.unit]))
    inside = "; ".join(filter(None, [number, interval_of(story, confidence)]))
    return f"{story.model} on {story.benchmark}: {story.verdict}{f' ({inside})' if inside else ''}"


def interval_of(story: Story, confidence: float = 0.95) -> str:
    """Confidence interval of a story's number, with as many decimals; empty where it has none."""
    shown = NUMBER.match(story.number)
    row = story.head if story.gauge is None else vars(story.gauge)
    if shown is None or row is None:
        return ""
    places, signed = len(shown["decimals"] or ""), story.number[0] in "+−"
    if number_text(row["value"], places, signed=signed) != shown[0]:  # a count, or the rate behind a difference
        return ""
    return interval_text(row["low"], row["high"], confidence=confidence, places=places, signed=signed)


def reach_of(stories: Sequence[Story]) -> float:
    """How far a drawing reaches to either side of the middle: as little as shows every interval around it."""
    gauges = [story.gauge for story in stories if story.gauge is not None and story.gauge.neutral == MIDDLE]
    far = [abs(edge - MIDDLE) for gauge in gauges for edge in (gauge.value, gauge.low, gauge.high)]
    return min(MIDDLE, 10.0 * math.ceil(max([LEAST_REACH, *filter(math.isfinite, far)]) / 10))


def drawn(gauge: Gauge, reach: float, width: int) -> str:
    """A percentage and its interval, with neutral as a bar. Where neutral is another share than a half, all from 0 to 100.

    >>> drawn(Gauge(58.0, 55.0, 61.0, 50.0, ""), 20.0, 21)
    '30 % ··········│·├─●─┤···· 70 %'
    >>> drawn(Gauge(80.0, 70.0, 90.0, 30.0, ""), 20.0, 21)
    '0 % ······│·······├─●─┤·· 100 %'
    """
    low, high = (MIDDLE - reach, MIDDLE + reach) if gauge.neutral == MIDDLE else (0.0, 100.0)
    cells = ["·"] * width
    at = {name: _place(getattr(gauge, name), low, high, width) for name in ("value", "low", "high", "neutral")}
    cells[at["neutral"]] = "│"
    if math.isfinite(gauge.low) and math.isfinite(gauge.high):
        for place in range(at["low"], at["high"] + 1):
            cells[place] = "─" if cells[place] == "·" else "┼"
        cells[at["low"]], cells[at["high"]] = "├", "┤"
    cells[at["value"]] = "●"
    return f"{low:g} % {''.join(cells)} {high:g} %"


def _place(value: float, low: float, high: float, width: int) -> int:
    """The column of a value; what lies outside is drawn at the edge."""
    if not math.isfinite(value):
        return width // 2
    return max(0, min(width - 1, round((value - low) / (high - low) * (width - 1))))
