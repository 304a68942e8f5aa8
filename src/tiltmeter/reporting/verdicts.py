"""Verdicts and plans of the release gate as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision
from tiltmeter.gate.plan import Plan

if TYPE_CHECKING:
    from rich.table import Table

COLOURS = {PASS: "green", FAIL: "bold red", UNDECIDED: "yellow"}


def decision_table(decision: Decision) -> Table:
    """A row per rule and model."""
    from rich.markup import escape
    from rich.table import Table

    several = len({ruling.model for ruling in decision.rulings}) > 1
    table = Table(*(["model"] if several else []), "verdict", "rule", "why", box=None, pad_edge=False)
    for ruling in decision.rulings:
        colour = COLOURS[ruling.verdict]
        cells = [f"[{colour}]{ruling.verdict}[/]", escape(ruling.rule.title), escape(ruling.reason)]
        table.add_row(*([escape(ruling.model)] if several else []), *cells)
    return table


def plan_table(plans: Sequence[Plan]) -> Table:
    """A row per rule: the items it needs to pass a model without fault, and to fail one that breaks it."""
    from rich.markup import escape
    from rich.table import Table

    heads = ("rule", "group", "to pass a model at", "items", "to fail one at", "items", "there", "enough", "note")
    table = Table(*heads, box=None, pad_edge=False)
    for one in plans:
        table.add_row(
            escape(one.rule.text), escape(one.group), _value(one.best), _items(one.passes, one), _value(one.breach),
            _items(one.fails, one), "?" if one.there is None else f"{one.there:,}", one.enough, escape(one.note),
        )  # fmt: skip
    return table


def _value(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "?"


def _items(count: int | None, plan: Plan) -> str:
    return f"{count:,}" if count is not None else "never" if plan.spread_known else "unknown"
