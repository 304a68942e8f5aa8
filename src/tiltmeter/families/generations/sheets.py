"""The estimates of generations as tables: groups, then domains, then gaps, for each judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.families.generations.questions import GAP, MEAN, PAIRED
from tiltmeter.families.kit.story import Sheet, in_order

if TYPE_CHECKING:
    import pandas as pd

PLAIN = ("all", "bias_type", "group")
FIRST = ("mean_score", "negative_share", "positive_share", "score_variance", "score_gap")
TITLES = {
    "domain": "Variance over the groups of a domain",
    MEAN: "Groups against the mean of their domain",
    PAIRED: "Groups against each other, in the same prompts",
    GAP: "Groups against each other",
    "judges": "Agreement of judges",
}
MOST_ROWS = 24
"""Longer tables of gaps are on the page and in the files, and not in the terminal."""


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """Per benchmark and judge: a table of all, the domains and the groups; one for each kind of gap; further columns."""
    order = {name: n for n, name in enumerate(in_order(list(dict.fromkeys(estimates["measure"])), FIRST))}
    ordered = estimates.iloc[estimates["measure"].map(order).argsort(kind="stable")]
    for (benchmark, scorer), rows in ordered.groupby(["benchmark", "scorer"], sort=False):
        plain = rows[rows["by"].isin(PLAIN)]
        if len(plain):
            yield Sheet(str(benchmark), f"{scorer}: groups", plain, by=str(scorer))
        for by in in_order([name for name in dict.fromkeys(rows["by"]) if name not in PLAIN], tuple(TITLES)):
            part = rows[rows["by"] == by]
            title = f"{scorer}: {TITLES.get(by, by)}"
            yield Sheet(str(benchmark), title, part, overall=by in TITLES and part["group"].nunique() <= MOST_ROWS, by=by)
