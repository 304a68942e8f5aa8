"""Annotations of lines: whom they are about, whether they are hateful, and how toxic people found them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tiltmeter.families.kit.answers import Answers

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("toxicity", "harmful")
"""Inputs of measures of annotated lines."""


def annotated(answers: Answers, benchmark: str, rows: pd.DataFrame) -> pd.DataFrame | None:
    """The rows with their annotations and a list of groups; None if the lines of this benchmark have none."""
    items = answers.items[answers.items["benchmark"] == benchmark]
    if not len(items) or '"harmful"' not in str(items["extra"].iloc[0]):
        return None
    extra = {item: json.loads(text) for item, text in zip(items["item"], items["extra"], strict=True)}
    of_rows = [extra[item] for item in rows["item"]]
    return rows.assign(
        toxicity=[float(known["toxicity"]) for known in of_rows],
        harmful=[int(known["harmful"]) for known in of_rows],
        groups=[known["groups"] for known in of_rows],
    )


def groups_of(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The lines about each group, by name; a line about two groups is in both."""
    names = sorted({group for groups in rows["groups"] for group in groups})
    return {name: rows[[name in groups for groups in rows["groups"]]] for name in names}
