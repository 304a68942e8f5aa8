"""Tables and sentences of the domain correlation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.display import counted, number_text, range_text, signed_text
from tiltmeter.stats.correlations import smallest_noticed
from tiltmeter.studies.kit.paper_metrics import shown

if TYPE_CHECKING:
    import pandas as pd

FEW = 10


def matrix(table: pd.DataFrame) -> pd.DataFrame:
    """A row per intrinsic metric, a column per domain and extrinsic one; *: p < .05, **: also Holm-corrected."""
    cells = table.assign(
        cell=[shown(row.r, row.p, row.p_holm) for row in table.itertuples()], column=table["domain"] + " · " + table["b"]
    )
    wide = cells.pivot(index="a", columns="column", values="cell").fillna("–")
    return wide[list(dict.fromkeys(cells["column"]))].rename_axis(None, axis=1).reset_index().rename(columns={"a": "metric"})


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """Summarise the results, their uncertainty, and the effects that were too small to detect."""
    for domain, rows in table.groupby("domain", sort=False):
        known = rows[rows["r"].notna()]
        if not len(known):
            yield f"{domain}: no correlation can be computed, since a metric is the same for all models."
            continue
        sure, n = known[known["p_holm"] < 0.05], int(known["n"].min())
        best = known.loc[known["r"].abs().idxmax()]
        yield (
            f"{domain}: {len(sure)} of {len(known)} correlations differ from zero (Holm-corrected p < 0.05); strongest: "
            f"{best['a']} with {best['b']}, r = {signed_text(best['r'], 2)} "
            f"{range_text(best['low'], best['high'], 2, signed=True)} over "
            f"{int(best['n'])} models."
        )
        level = 0.05 / len(known)
        yield (
            f"{domain}: with {n} models an |r| below {number_text(smallest_noticed(n), 2)} would be missed more "
            "often than one time in "
            f"five, and below {number_text(smallest_noticed(n, level=level), 2)} after correction for "
            f"{counted(len(known), 'test')}. No finding is "
            "not a finding of no correlation."
        )
    if (table["n"] < FEW).any():
        yield f"Fewer than {FEW} models: intervals are rough, and one model can make or hide a correlation."
    weak = table[(table[["reliability_x", "reliability_y"]].min(axis=1) < 0.5)]
    if len(weak):
        yield (
            f"In {len(weak)} of {len(table)} pairs more than half of the variance of a domain score over models could be "
            "error of measurement, which pulls r towards 0: see clear_r and the reliabilities. These are lower bounds, "
            "since errors that models share through their items are in them; below 0 they say nothing."
        )
