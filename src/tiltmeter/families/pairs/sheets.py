"""The estimates of pairs as tables: every measure by every scorer, then the headline by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.families.kit.story import Sheet, in_order
from tiltmeter.families.pairs.headline import MEASURES, averaged_over_targets, headline, ordered_scorers

if TYPE_CHECKING:
    import pandas as pd

FEW = "Few pairs give wide intervals. p is corrected by Holm's method over the groups of one table."
ABOUT = {
    "bias_type": f"Which bias types the lean comes from. {FEW}",
    "direction": "Disadvantaged: the stereotype is about the disadvantaged group. Advantaged: it is about the other group. "
    "The neutral value of |difference| is 0.",
}


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """Per benchmark: overall, all scorers; then by bias type, direction or another column, each model's headline first."""
    for benchmark, rows in estimates.groupby("benchmark", sort=False):
        overall = _ordered(rows[rows["by"] == "all"], str(benchmark))
        if len(overall):
            yield Sheet(str(benchmark), "Every measure, by every scorer", overall, rows_are="scorer", by="all")
        for by in dict.fromkeys(rows["by"]):
            part = rows[rows["by"] == by]
            if by != "all" and len(part):
                heads, about = _headlines(part, rows), ABOUT.get(str(by), FEW)
                yield Sheet(str(benchmark), by_text(str(by)), heads, overall=False, by=str(by), about=about)
        others = rows[~rows["measure"].isin(overall["measure"])]
        if len(others):
            yield Sheet(str(benchmark), "Variance over protected groups", others, pivot=False, by="variance")


def by_text(by: str) -> str:
    """The title of a table by a column."""
    return {"bias_type": "By bias type", "direction": "By direction"}.get(by, f"By {by}")


def _ordered(rows: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """The rows with the most important measures and scorers first."""
    leaning = [name for name in dict.fromkeys(rows["measure"]) if _leans(name)]
    first = leaning[::-1] if averaged_over_targets(benchmark) else leaning
    measure = _places(rows["measure"], in_order(list(dict.fromkeys(rows["measure"])), (*first, *MEASURES)))
    heads = [str(head["scorer"]) for _, own in rows.groupby("model") if (head := headline(own)) is not None]
    scorer = _places(rows["scorer"], in_order(ordered_scorers(list(rows["scorer"])), heads))
    return rows.iloc[np.lexsort((scorer, measure))]


def _leans(name: str) -> bool:
    return name in catalog.names("measures") and catalog.find("measures", name).spec.leans


def _places(column: pd.Series, order: list[str]) -> list[int]:
    place = {name: n for n, name in enumerate(order)}
    return [place[name] for name in column]


def _headlines(part: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of every model's headline measure and scorer; of its first ones if it has no headline."""
    per_model = [of_model for _, of_model in rows.groupby("model", sort=False)]
    heads = [headline(of_model) for of_model in per_model]
    firsts = [head for head in heads if head is not None] or [of_model.iloc[0] for of_model in per_model]
    chosen = {(head["model"], head["scorer"], head["measure"]) for head in firsts}
    keys = zip(part["model"], part["scorer"], part["measure"], strict=True)
    return part[[key in chosen for key in keys]]
