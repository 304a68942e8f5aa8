"""What a notebook shows of answers, before they are estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiltmeter.families.kit.answers import Answers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Described:
    """A title, a sentence and a small table."""

    title: str
    said: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


def described(answers: Answers) -> Described:
    """For a family that says nothing of its own: how many rows each model and benchmark has."""
    frame = answers.table
    rows = [[*key, len(ours)] for key, ours in frame.groupby(["benchmark", "model"], sort=False)]
    said = f"{len(answers):,} rows: {counted(frame, 'model')}, {counted(frame, 'benchmark')}."
    return Described(answers.family.capitalize(), said, ("benchmark", "model", "rows"), rows)


def counted(frame: pd.DataFrame, column: str) -> str:
    """The names in a column, or how many there are."""
    names = list(dict.fromkeys(map(str, frame[column])))
    return f"{len(names)} {column}s" if len(names) > 3 else ", ".join(names)
