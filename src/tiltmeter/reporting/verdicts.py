"""Verdicts and plans of the release gate, as a terminal shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision
from tiltmeter.gate.plan import Plan
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
    """A row per rule: the items it needs to pass a model without fault, and to fail one that breaks it."""
    names = [Column("rule", [one.rule.text for one in plans]), Column("group", [one.group for one in plans])]
    numbers = {
        "to pass a\nmodel at": [_value(one.best) for one in plans],
        "items\nfor that": [_items(one.passes, one) for one in plans],
        "to fail\none at": [_value(one.breach) for one in plans],
        "items\nfor that ": [_items(one.fails, one) for one in plans],
        "there": ["?" if one.there is None else f"{one.there:,}" for one in plans],
        "enough": [one.enough for one in plans],
    }
    values = [Column(head, cells, "number") for head, cells in numbers.items()]
    return Grid("", names, [*values, Column("note", [one.note for one in plans], "text")], all_values=True)


def _value(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "?"


def _items(count: int | None, plan: Plan) -> str:
    return f"{count:,}" if count is not None else "never" if plan.spread_known else "unknown"
