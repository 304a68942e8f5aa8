"""Notebook display of answers that are not estimated yet."""

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
    sentence: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


def described(answers: Answers) -> Described:
    """The default for families: how many rows each model and benchmark has."""
    frame = answers.table
    rows = [[*key, len(part)] for key, part in frame.groupby(["benchmark", "model"], sort=False)]
    sentence = f"{len(answers):,} rows: {counted(frame, 'model')}, {counted(frame, 'benchmark')}."
    return Described(answers.family.capitalize(), sentence, ("benchmark", "model", "rows"), rows)


def counted(frame: pd.DataFrame, column: str) -> str:
    """The names in a column, or how many there are."""
    names = list(dict.fromkeys(map(str, frame[column])))
    return f"{len(names)} {column}s" if len(names) > 3 else ", ".join(names)
