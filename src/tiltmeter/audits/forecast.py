"""Forecast of an audit, its items and its duration, from a short trial of each model on each benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tiltmeter.display import number_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.forecast import trial_cost
from tiltmeter.execution.plan import Plan
from tiltmeter.families.kit.reading import reading_of
from tiltmeter.models import load_any


@dataclass(frozen=True)
class PlannedQuestion:
    """One model on one benchmark: items, tokens shown to the model, and seconds; None where a trial failed, see `note`."""

    model: str
    benchmark: str
    items: int
    tokens: int
    seconds: float | None
    note: str = ""


def forecast_audit(plan: Plan) -> list[PlannedQuestion]:
    """Try every model on a few items of every benchmark."""
    found = []
    for name in plan.models:
        model = load_any(plan.experiment.model(name).source, **plan.experiment.run_options().loading)
        for cell in (cell for cell in plan.cells if cell.model == name):
            found.append(_tried(plan, model, cell))
    return found


def _tried(plan: Plan, model: Any, cell: Any) -> PlannedQuestion:
    benchmark, options = plan.loaded[cell.ask]
    try:
        cost = trial_cost(plan.experiment, model, benchmark, options)
        tokens = int(reading_of(model, benchmark.shown_texts()).get("tokens", 0))
    except TiltmeterError as error:
        return PlannedQuestion(cell.model, cell.benchmark, cell.items, 0, None, str(error))
    return PlannedQuestion(cell.model, cell.benchmark, cell.items, tokens, cost.get("seconds"), str(cost.get("note", "")))


def plan_sentences(questions: list[PlannedQuestion], price: float | None = None) -> list[str]:
    """State the number of items, the expected time, and the price per million tokens."""
    lines = [
        f"{one.model} on {one.benchmark}: {one.items:,} items, {one.tokens:,} tokens, "
        + (f"about {number_text(one.seconds, 0)} s" if one.seconds is not None else f"time unknown ({one.note})")
        for one in questions
    ]
    seconds, tokens = sum(one.seconds or 0.0 for one in questions), sum(one.tokens for one in questions)
    cost = f", {number_text(tokens / 1e6 * price, 2)} at {price:g} per million tokens" if price else ""
    return [
        *lines,
        f"In all about {number_text(seconds / 60)} minutes and {tokens:,} tokens{cost}. Answers in the cache cost nothing.",
    ]
