"""What fills the slots, for the terminal: a table per model and benchmark, and sentences computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from tiltmeter.reporting.terminal import _table, value_text
from tiltmeter.significance import p_text
from tiltmeter.slot_estimating import AMONG_CANDIDATES

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

SIGNIFICANT = 0.05


def slot_overview(estimates: pd.DataFrame) -> Iterator[Table]:
    """Groups down, measures across; then the gaps between groups."""
    rows = estimates[(estimates["scorer"] == "slots") & estimates["by"].isin(["group", "gap"])]
    for (model, benchmark), found in rows.groupby(["model", "benchmark"], sort=False):
        for by in ("group", "gap"):
            part = found[found["by"] == by]
            if len(part):
                yield _pivot(f"{model} × {benchmark}" if by == "group" else "gaps, per sentence", by, part)


def _pivot(title: str, by: str, rows: pd.DataFrame) -> Table:
    table = _table(title)
    table.add_column({"group": "terms", "gap": "gap"}[by])
    measures = list(dict.fromkeys(rows["measure"]))
    for measure in measures:
        neutral = rows[rows["measure"] == measure]["neutral"].iloc[0]
        table.add_column(measure if np.isnan(neutral) else f"{measure}\nneutral {neutral:g}", justify="right")
    table.add_column("n", justify="right")
    table.add_column("missing", justify="right")
    for group, found in rows.groupby("group", sort=False):
        of = {row["measure"]: row for _, row in found.iterrows()}
        cells = [value_text(of[measure]) if measure in of else "" for measure in measures]
        least = found.loc[found["n"].idxmin()]
        table.add_row(escape(str(group)), *cells, f"{least['n']:,}", f"{least['n_missing']:,}")
    return table


def slot_sentences(estimates: pd.DataFrame, top_k: int) -> Iterator[str]:
    """Per model and benchmark: how often a group is found at all, how likely, how high, and which way it leans."""
    rows = estimates[(estimates["scorer"] == "slots") & estimates["by"].isin(["group", "gap"])]
    for (model, benchmark), found in rows.groupby(["model", "benchmark"], sort=False):
        of = {(row["measure"], row["group"]): row for _, row in found.iterrows()}
        groups = list(dict.fromkeys(found[found["by"] == "group"]["group"]))
        said = [_group(group, of, top_k) for group in groups if ("coverage", group) in of]
        gaps = [_gap(row, of) for (measure, _), row in of.items() if measure == "mnt_gap"]
        if said or gaps:
            ranked = found["note"].str.contains(AMONG_CANDIDATES, regex=False).any()
            flag = "As a causal model predicts no mask, terms are ranked among the listed terms only." if ranked else ""
            yield " ".join(filter(None, [f"{model} on {benchmark}:", *said, *gaps, flag]))


def _group(group: str, of: dict[tuple[str, str], Any], top_k: int) -> str:
    share = of["coverage", group]
    among = f"{group} terms are among the first {top_k} in {share['value']:.0%} of {share['n']:,} sentences"
    parts = []
    for measure, what in (("mps", "mean probability"), ("mnt", "mean normalised rank")):
        row = of.get((measure, group))
        if row is not None and np.isfinite(row["value"]):
            parts.append(f"{what} {value_text(row)}")
    return f"{among} ({', '.join(parts)})." if parts else f"{among}."


def certain(row: Any) -> bool:
    """Whether the test of a row, corrected where there are several, tells it from neutral."""
    return bool((row["p"] if np.isnan(row["p_holm"]) else row["p_holm"]) < SIGNIFICANT)


def _gap(row: Any, of: dict[tuple[str, str], Any]) -> str:
    """The mean gap, and the shares of sentences: a few wide gaps can hide what most sentences show."""
    if not np.isfinite(row["value"]):
        return f"{row['group']}: no sentence has a match of both."
    first, second = row["group"].split(" − ", 1)
    if certain(row):
        verdict = f"{first if row['value'] > 0 else second} terms rank higher on average, distinguishable from no gap"
    else:
        verdict = "neither ranks distinguishably higher on average"
    said = f"Where both are found (n = {row['n']:,}), {verdict} (gap of normalised ranks {value_text(row)}, {_p(row)})"
    ours, theirs = (of.get(("lean", f"{one} > {other}")) for one, other in ((first, second), (second, first)))
    if ours is None or theirs is None or not np.isfinite(ours["value"]):
        return f"{said}."
    shares = f"{first} terms are ahead in {ours['value']:.0%} of these sentences, {second} terms in {theirs['value']:.0%}"
    return f"{said}; {shares}, {'' if certain(ours) else 'not '}distinguishable ({_p(ours)})."


def _p(row: Any) -> str:
    return f"p {p_text(row['p'] if np.isnan(row['p_holm']) else row['p_holm'])}"
