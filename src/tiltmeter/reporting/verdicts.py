"""Verdicts and plans of the release gate, as a terminal shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tiltmeter.display import number_text, range_text, share_text, significant_text
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision
from tiltmeter.gate.plan import Plan
from tiltmeter.gate.sequential_result import ALL_ITEMS, EARLY, OPEN, SequentialDecision
from tiltmeter.reporting.columns import Column, Grid
from tiltmeter.reporting.wrapping import filled

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {PASS: "green", FAIL: "bold red", UNDECIDED: "yellow"}


def decision_lines(decision: Decision, width: int | None) -> Iterator[Text]:
    """Every rule and model with its verdict, and the reason below it."""
    from rich.text import Text

    several = len({ruling.model for ruling in decision.rulings}) > 1
    margin = max(map(len, COLOURS)) + 2
    for ruling in decision.rulings:
        what = f"{ruling.model}: {ruling.rule.title}" if several else ruling.rule.title
        first = Text(filled(what, width, ruling.verdict.ljust(margin), " " * margin))
        first.stylize(COLOURS[ruling.verdict], 0, len(ruling.verdict))
        yield first
        yield Text(filled(ruling.reason, width, " " * margin, " " * margin))


def plan_table(plans: Sequence[Plan]) -> Grid:
    """A row per rule: chances of a neutral model, of one at the limit and of one beyond it, and the items it needs."""
    names = [Column("rule", [one.rule.text for one in plans]), Column("group", [one.group for one in plans])]
    numbers = {
        "neutral:\npasses": [_chance(one.best, one.neutral.passes) for one in plans],
        "limit:\nfails": [_chance(one.limit, one.at_limit.fails) for one in plans],
        "limit:\npasses": [_chance(one.limit, one.at_limit.passes) for one in plans],
        "beyond:\nfails": [_chance(one.breach, one.beyond.fails) for one in plans],
        "items\nneeded": [_items(one.needed, one) for one in plans],
        "there": ["?" if one.there is None else f"{one.there:,}" for one in plans],
        "enough": [one.enough for one in plans],
        "limit in\nitems": ["" if one.limit_items is None else f"±{number_text(one.limit_items, 0)}" for one in plans],
    }
    values = [Column(head, cells, "number") for head, cells in numbers.items()]
    return Grid("", names, [*values, Column("note", [one.note for one in plans], "text")], all_values=True)


def sequential_lines(decision: SequentialDecision, width: int | None) -> Iterator[Text]:
    """Every number of a sequential check with its verdict, and below it how many items it took."""
    from rich.text import Text

    margin = max(map(len, COLOURS)) + 2
    for one in decision.findings:
        group = "" if one.group == "all" else f" ({one.group})"
        first = Text(filled(f"{one.model}{group}: {one.rule.title}", width, one.verdict.ljust(margin), " " * margin))
        first.stylize(COLOURS[one.verdict], 0, len(one.verdict))
        yield first
        how = {EARLY: "decided early", ALL_ITEMS: "decided by all items", OPEN: "not decided"}[one.stage]
        number = f"{number_text(one.value, 2)} {range_text(one.low, one.high, 2)}" if one.has_interval else "No interval yet"
        text = f"{number}, {how}: {one.items_read:,} of {one.items:,} items."
        yield Text(filled(text.replace("-", "−"), width, " " * margin, " " * margin))


def _chance(value: float, chance: float) -> str:
    """A true value and the chance of a verdict there."""
    return f"{_value(value)}: {share_text(chance, 0)}" if math.isfinite(chance) else f"{_value(value)}: ?"


def _value(value: float) -> str:
    return significant_text(value, 4) if math.isfinite(value) else "?"


def _items(count: int | None, plan: Plan) -> str:
    return f"{count:,}" if count is not None else "never" if plan.spread_known else "unknown"
