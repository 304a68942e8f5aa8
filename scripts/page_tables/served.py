"""The same weights behind a server and by transformers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables.kit import read, table

QUESTIONS = {"plumb-choices": "plumb-choices, all orders", "bbq": "BBQ, {questions} questions"}


def served_agreement() -> Iterator[str]:
    """Largest differences, and what is the same."""
    rows = ((step["model"], *(of_pairs(step) if "scorers" in step else of_questions(step)))
            for step in read("served-agreement")["steps"])  # fmt: skip
    head = ("model", "benchmark", "compared", "largest difference (nats)", "the same in both")
    yield from table(head, "lllll", rows)


def of_pairs(step: dict[str, Any]) -> tuple[str, ...]:
    """Write the cells of a benchmark of pairs."""
    scorers = step["scorers"]
    for found in scorers.values():
        assert found["bias_score_local"] == found["bias_score_served"] and not found["n_ties_local"] + found["n_ties_served"]
    scores = ", ".join(f"{found['bias_score_local']:.2f} by `{name}`" for name, found in scorers.items())
    largest = max(found["largest"] for found in scorers.values())
    sentences = max(found["sentences"] for found in scorers.values())
    return "CrowS-Pairs", f"{sentences:,} sentences", f"{largest:.5f}", f"`bias_score` {scores}; no ties"


def of_questions(step: dict[str, Any]) -> tuple[str, ...]:
    """Write the cells of a benchmark of questions."""
    same = f"{step['same_answer']} of {step['questions']} answers"
    return QUESTIONS[step["benchmark"]].format(**step), f"{step['letters']:,} letters", f"{step['largest']:.5f}", same
