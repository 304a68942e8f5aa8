"""Display of labels in a notebook: a line, a small table, and the few numbers that are drawn at once."""

from __future__ import annotations

from tiltmeter.display import share_text
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, counted


def brief(answers: Answers) -> tuple[Answers, list[str]]:
    """The answers and measures that are drawn before anything is estimated."""
    return answers, ["fpr"]


def describe(answers: Answers) -> Described:
    """Count the texts that each seed calls toxic."""
    frame = answers.table
    rows = [
        [*key, len(part), share_text((part["probability"] >= 0.5).mean()), int(part["cut"].sum())]
        for key, part in frame.groupby(["benchmark", "model", "seed"], sort=False)
    ]
    sentence = f"{len(answers):,} probabilities: {counted(frame, 'model')}, {counted(frame, 'benchmark')}."
    return Described("Labels", sentence, ("benchmark", "model", "seed", "texts", "called toxic", "cut"), rows)
