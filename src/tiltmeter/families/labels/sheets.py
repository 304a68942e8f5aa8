"""The estimates of labels as tables: all texts, groups, domains, and counterfactuals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.families.kit.story import Sheet, in_order
from tiltmeter.families.labels.estimate import EQUAL, HALF, NAMED, PROBABILITY

if TYPE_CHECKING:
    import pandas as pd

TITLES = {
    HALF: "called toxic from 0.5",
    EQUAL: "at the threshold with 10 % false positives overall",
    PROBABILITY: "by probability",
    NAMED: "by probability, among texts that name a group",
}
PLACES = {
    "all": "All texts",
    "group": "Texts that name a group",
    "domain": "Between the groups of a domain",
    "swapped group": "Texts of a group, about another group instead",
}
ABOUT = {
    "group": "Rates are shares of the texts that are not toxic (fpr) or toxic (fnr); n counts these.",
    "domain": "fpr_variance_chance is the variance that chance alone would give with these numbers of texts.",
}


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """One table for each place and each way to read the probabilities; points of the curve are for the figure."""
    for benchmark, of_benchmark in estimates.groupby("benchmark", sort=False):
        rows = of_benchmark[~of_benchmark["by"].isin(["threshold", "swap"])]
        for by in in_order(list(dict.fromkeys(rows["by"])), tuple(PLACES)):
            of_place = rows[rows["by"] == by]
            for scorer in in_order(list(dict.fromkeys(of_place["scorer"])), tuple(TITLES)):
                part = of_place[of_place["scorer"] == scorer]
                title = f"{PLACES.get(by, f'By {by}')}, {TITLES.get(scorer, scorer)}"
                yield Sheet(str(benchmark), title, part, by=by, about=ABOUT.get(by, ""))
