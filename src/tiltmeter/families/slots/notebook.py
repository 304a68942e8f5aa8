"""Notebook display of slots: a line, a small table, and the few numbers that are drawn at once."""

from __future__ import annotations

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, counted
from tiltmeter.families.slots.fills import best_matches


def brief(answers: Answers) -> tuple[Answers, list[str]]:
    """The answers and measures that are drawn before anything is estimated."""
    return answers, ["mps", "mnt"]


def describe(answers: Answers) -> Described:
    """Count sentences with a match, per group."""
    frame = answers.table
    best = best_matches(frame).groupby(["benchmark", "model", "group"], sort=False)
    medians = {key: (len(part), float(part["probability"].median()), float(part["rank"].median())) for key, part in best}
    rows = [
        [*key, part["item"].nunique(), *medians.get(key, (0, float("nan"), float("nan")))]
        for key, part in frame.groupby(["benchmark", "model", "group"], sort=False)
    ]
    names = ", ".join(counted(frame, column) for column in ("model", "benchmark", "group"))
    sentence = f"{len(answers):,} terms in slots: {names}."
    heads = ("benchmark", "model", "group", "sentences", "with a match", "median probability", "median rank")
    return Described("Slots", sentence, heads, rows)
