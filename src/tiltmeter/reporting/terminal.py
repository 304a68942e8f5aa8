"""Tables for the terminal: every measure with its neutral point, interval and n."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from tiltmeter import catalog

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def overview(estimates: pd.DataFrame) -> list[Table]:
    """One table per model and benchmark: scorers down, measures across, overall values."""
    overall = estimates[estimates["by"] == "all"]
    return [
        _pivot(f"{model} × {benchmark}", rows)
        for (model, benchmark), rows in overall.groupby(["model", "benchmark"], sort=False)
    ]


def _pivot(title: str, rows: pd.DataFrame) -> Table:
    table = _table(title)
    measures = list(dict.fromkeys(rows["measure"]))
    table.add_column("scorer")
    for measure in measures:
        table.add_column(f"{measure}\n{_neutral_text(measure)}", justify="right")
    for name in ("n", "missing", "ties"):
        table.add_column(name, justify="right")
    for scorer, found in rows.groupby("scorer", sort=False):
        by_measure = {row["measure"]: row for _, row in found.iterrows()}
        cells = [value_text(by_measure[measure]) if measure in by_measure else "" for measure in measures]
        counts = found.iloc[0]
        table.add_row(escape(scorer), *cells, *(f"{counts[name]:,}" for name in ("n", "n_missing", "n_ties")))
    return table


def long_table(estimates: pd.DataFrame, title: str) -> Table:
    """One row per estimate."""
    table = _table(title)
    for name in ("model", "benchmark", "scorer", "measure", "group"):
        table.add_column(name)
    for name in ("value (interval)", "neutral", "n", "missing", "ties", "p (Holm)"):
        table.add_column(name, justify="right")
    for _, row in estimates.iterrows():
        group = "all" if row["by"] == "all" else f"{row['group']}"
        neutral = "" if np.isnan(row["neutral"]) else f"{row['neutral']:g}"
        counts = (f"{row[name]:,}" for name in ("n", "n_missing", "n_ties"))
        names = (escape(row[name]) for name in ("model", "benchmark", "scorer", "measure"))
        table.add_row(*names, escape(group), value_text(row), neutral, *counts, _p_cell(row))
    return table


def associations(estimates: pd.DataFrame) -> list[Table]:
    """One table per model and benchmark that has no overall row: association tests, a row each."""
    others = estimates[estimates["scorer"] != "slots"]  # reporting/slots.py has tables of their own
    return [
        long_table(rows, f"{model} × {benchmark}")
        for (model, benchmark), rows in others.groupby(["model", "benchmark"], sort=False)
        if not (rows["by"] == "all").any()
    ]


def comparison(table: pd.DataFrame) -> Table:
    """One row per difference between two models."""
    shown = _table("difference to the baseline")
    for name in ("benchmark", "scorer", "measure", "group", "model", "baseline"):
        shown.add_column(name)
    for name in ("value", "baseline value", "difference (interval)", "n", "p (Holm)"):
        shown.add_column(name, justify="right")
    for _, row in table.iterrows():
        names = (escape(row[name]) for name in ("benchmark", "scorer", "measure", "group", "model", "baseline"))
        difference = f"{row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
        shown.add_row(
            *names,
            f"{row['value']:.2f}",
            f"{row['baseline_value']:.2f}",
            difference,
            f"{row['n']:,}",
            _p_cell(row),
        )
    return shown


def value_text(row: Any) -> str:
    """A value with its interval, or why there is none."""
    if np.isnan(row["value"]):
        return "missing"
    # Percentages have their neutral point elsewhere; what is neutral at 0, and all about slots, is small: decimals matter.
    small = row["scorer"] == "slots" or row["neutral"] == 0
    value, edge = (".3f", ".3f") if small else (".2f", ".1f")
    if np.isnan(row["low"]):
        return f"{row['value']:{value}}"
    return f"{row['value']:{value}} [{row['low']:{edge}}, {row['high']:{edge}}]"


def missing_text(estimates: pd.DataFrame) -> str:
    """Why pairs are missing, summed up per scorer, for the overall rows."""
    overall = estimates[(estimates["by"] == "all") & (estimates["n_missing"] > 0)]
    reasons: dict[str, Counter[str]] = {}
    for _, row in overall.drop_duplicates(["model", "benchmark", "scorer"]).iterrows():
        if row["missing"]:
            reasons.setdefault(row["scorer"], Counter()).update(json.loads(row["missing"]))
    parts = [f"{scorer}: " + ", ".join(f"{why} ({n:,})" for why, n in c.items()) for scorer, c in reasons.items()]
    return "Missing pairs leave the denominator. " + "; ".join(parts) + "." if parts else ""


def _p_cell(row: Any) -> str:
    p = row["p"] if np.isnan(row["p_holm"]) else row["p_holm"]
    if np.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _neutral_text(measure: str) -> str:
    neutral = catalog.find("measures", measure).constant("NEUTRAL")
    return "ideal 100" if neutral is None else f"neutral {neutral:.0f}"


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def plain_table(frame: pd.DataFrame, title: str, most: int = 40) -> Table:
    """Any tidy table, its first rows; the files have the rest."""
    more = f" (first {most} of {len(frame):,} rows)" if len(frame) > most else ""
    table = _table(title + more)
    for name in frame:
        table.add_column(escape(str(name)), justify="left" if frame[name].dtype.kind in "OUT" else "right")
    for row in frame.head(most).itertuples(index=False):
        table.add_row(*(escape(_cell(value)) for value in row))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
