"""What a notebook shows of slots: a line, a small table, and the few numbers that are worth drawing on the spot."""

from __future__ import annotations

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, counted
from tiltmeter.families.slots.fills import best_matches


def brief(answers: Answers) -> tuple[Answers, list[str]]:
    """What is drawn of answers that were not estimated yet."""
    return answers, ["mps", "mnt"]


def described(answers: Answers) -> Described:
    """How many sentences have a match of which group."""
    frame = answers.table
    best = best_matches(frame).groupby(["benchmark", "model", "group"], sort=False)
    medians = {key: (len(ours), float(ours["probability"].median()), float(ours["rank"].median())) for key, ours in best}
    rows = [
        [*key, ours["item"].nunique(), *medians.get(key, (0, float("nan"), float("nan")))]
        for key, ours in frame.groupby(["benchmark", "model", "group"], sort=False)
    ]
    names = ", ".join(counted(frame, column) for column in ("model", "benchmark", "group"))
    said = f"{len(answers):,} terms in slots: {names}."
    heads = ("benchmark", "model", "group", "sentences", "with a match", "median probability", "median rank")
    return Described("Slots", said, heads, rows)
