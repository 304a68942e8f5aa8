"""The estimates of slots as tables: gaps between groups of terms, then the groups themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.families.kit.story import Sheet, in_order

if TYPE_CHECKING:
    import pandas as pd

TITLES = {"gap": "Gaps between groups of terms", "group": "Groups of terms"}
FIRST = ("stereotype_gap", "lean", "mnt_gap", "mps_gap", "coverage", "mps", "mnt")


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """One table of gaps and one of groups per benchmark; for each further column, tables of the first measure."""
    import pandas as pd

    for benchmark, of_benchmark in estimates.groupby("benchmark", sort=False):
        order = {name: n for n, name in enumerate(in_order(list(dict.fromkeys(of_benchmark["measure"])), FIRST))}
        rows = of_benchmark.iloc[pd.Series(of_benchmark["measure"].map(order)).argsort(kind="stable")]
        for by in in_order(list(dict.fromkeys(rows["by"])), ("gap", "group")):
            part = rows[rows["by"] == by]
            if by in TITLES:
                yield Sheet(str(benchmark), TITLES[by], part, by=by)
            else:
                what, _, column = by.partition(" × ")
                first = part[part["measure"] == part["measure"].iloc[0]]
                yield Sheet(str(benchmark), f"{TITLES.get(what, what)}, by {column}", first, overall=False, by=by)
