"""By how much each sentence prefers those whom it is about, in log-probability of their best word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.slots.fills import best_terms

if TYPE_CHECKING:
    import pandas as pd


def item_readings(answers: Answers) -> Iterator[pd.DataFrame]:
    """One row per sentence that says whom it is about, for each model and benchmark with two groups."""
    best = best_terms(answers.table)
    about = answers.items.drop_duplicates(["benchmark", "item"]).set_index(["benchmark", "item"])["target"]
    for (model, benchmark), rows in best.groupby(["model", "benchmark"], sort=False):
        wide = rows.pivot(index="item", columns="group", values="probability")
        if wide.shape[1] != 2:
            continue
        whom = about[benchmark].reindex(wide.index)
        known = whom.isin(wide.columns).to_numpy()
        wide, whom = wide[known], whom[known]
        first = np.log(wide.iloc[:, 0].to_numpy()) - np.log(wide.iloc[:, 1].to_numpy())
        sign = np.where(whom.to_numpy() == wide.columns[0], 1.0, -1.0)
        table = wide.reset_index()[["item"]].assign(by="group", group=whom.astype(str).to_numpy(), value=sign * first)
        yield table[np.isfinite(table["value"])].assign(model=model, benchmark=benchmark, scorer="slots")
