"""Forecast of an audit, its questions and its duration, from a short trial of each model on each benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tiltmeter.display import number_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.cells import open_store
from tiltmeter.execution.forecast import trial_cost
from tiltmeter.execution.key import identify_model, make_key
from tiltmeter.execution.plan import Plan, PlannedCell
from tiltmeter.families.kit.reading import reading_of
from tiltmeter.models import load_any
from tiltmeter.storage.cells import CellStore


@dataclass(frozen=True)
class PlannedQuestion:
    """One model on one benchmark: questions, tokens shown to the model, and seconds; None where a trial failed, see `note`.

    `tokens` is 0 where it is not counted in advance. Answers in the cache need no trial and cost nothing.
    """

    model: str
    benchmark: str
    amount: str
    tokens: int
    seconds: float | None
    note: str = ""
    is_cached: bool = False


def forecast_audit(plan: Plan) -> list[PlannedQuestion]:
    """Try every model on a few items of every benchmark whose answers are not in the cache."""
    found = []
    store = open_store(plan.experiment.run_options().cache)
    for name in plan.models:
        cells = plan.of(name)
        cached = {cell.benchmark for cell in cells if _is_cached(plan, cell, store)}
        new = [cell for cell in cells if cell.benchmark not in cached]
        model = load_any(plan.experiment.model(name).source, **plan.experiment.run_options().loading) if new else None
        for cell in cells:
            amount = plan.loaded[cell.ask][0].amount
            is_cached = cell.benchmark in cached
            found.append(
                PlannedQuestion(name, cell.benchmark, amount, 0, 0.0, is_cached=True)
                if is_cached
                else _tried(plan, model, cell, amount)
            )
    return found


def _is_cached(plan: Plan, cell: PlannedCell, store: CellStore) -> bool:
    """Return whether the answers are stored; False for a model that only loading can identify."""
    try:
        model = plan.experiment.model(cell.model)
        options = plan.experiment.run_options(model.kind)
        identity = identify_model(model, options)
        benchmark, asked = plan.loaded[cell.ask]
        if identity is None:
            return False
        key = make_key(identity, cell.model, benchmark, cell.data, asked, options.settings.seed)
        return store.find(key.digest) is not None
    except TiltmeterError:  # the trial says what is wrong
        return False


def _tried(plan: Plan, model: Any, cell: PlannedCell, amount: str) -> PlannedQuestion:
    benchmark, options = plan.loaded[cell.ask]
    try:
        cost = trial_cost(plan.experiment, model, benchmark, options)
        tokens = int(reading_of(model, benchmark.shown_texts()).get("tokens", 0))
    except TiltmeterError as error:
        return PlannedQuestion(cell.model, cell.benchmark, amount, 0, None, str(error))
    return PlannedQuestion(cell.model, cell.benchmark, amount, tokens, cost.get("seconds"), str(cost.get("note", "")))


def plan_sentences(questions: list[PlannedQuestion], price: float | None = None) -> list[str]:
    """State the number of questions, the expected time, and the price per million tokens."""
    seconds, tokens = sum(one.seconds or 0.0 for one in questions), sum(one.tokens for one in questions)
    cost = f", {number_text(tokens / 1e6 * price, 2)} at {price:g} per million tokens" if price else ""
    cached = sum(one.is_cached for one in questions)
    reused = f" {cached} of {len(questions)} are in the cache and cost nothing." if cached else ""
    return [
        *(_sentence(one) for one in questions),
        f"In all about {number_text(seconds / 60)} minutes of inference and {tokens:,} tokens{cost}.{reused} "
        "Estimates, the comparison and the page take some minutes more.",
    ]


def _sentence(question: PlannedQuestion) -> str:
    if question.is_cached:
        return f"{question.model} on {question.benchmark}: {question.amount}, in the cache"
    time = (
        f"about {number_text(question.seconds, 0)} s" if question.seconds is not None else f"time unknown ({question.note})"
    )
    tokens = [f"{question.tokens:,} tokens"] if question.tokens else []
    return f"{question.model} on {question.benchmark}: {', '.join([question.amount, *tokens, time])}"
