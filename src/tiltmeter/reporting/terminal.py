"""Tables for the terminal: every measure with its neutral point, interval and n."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from tiltmeter import catalog
from tiltmeter.families.kit.story import Sheet, decimals_of, value_text
from tiltmeter.reporting.told import overall_rows, sheets_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def overview(estimates: pd.DataFrame) -> Iterator[Table]:
    """Tables of the overall estimates: one per model and sheet, with measures as columns or a row per estimate."""
    begun = set()
    for sheet in sheets_of(estimates):
        for model, rows in sheet.rows.groupby("model", sort=False) if sheet.overall else ():
            title = f"{model} × {sheet.benchmark}"
            more = sheet.title.removeprefix(sheet.benchmark) if (model, sheet.benchmark) in begun or not sheet.pivot else ""
            begun.add((model, sheet.benchmark))
            shown = f"{title} · {more.removeprefix(' · ')}" if more else title
            yield _pivot(shown, sheet, rows) if sheet.pivot else long_table(rows, shown)


def _pivot(title: str, sheet: Sheet, rows: pd.DataFrame) -> Table:
    table = _table(title)
    measures = list(dict.fromkeys(rows["measure"]))
    table.add_column(sheet.rows_are if sheet.rows_are == "scorer" else sheet.by)
    for measure in measures:
        table.add_column(f"{measure}\n{neutral_text(measure)}".rstrip(), justify="right")
    for name in ("n", "missing", "ties"):
        table.add_column(name, justify="right")
    for label, of_label in rows.groupby(sheet.rows_are, sort=False):
        by_measure = {row["measure"]: row for _, row in of_label.iterrows()}
        cells = [value_text(by_measure[measure]) if measure in by_measure else "" for measure in measures]
        counts = of_label.loc[of_label["n"].idxmin()]
        table.add_row(escape(str(label)), *cells, *(f"{counts[name]:,}" for name in ("n", "n_missing", "n_ties")))
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


def comparison(table: pd.DataFrame) -> Table:
    """One row per difference between two models."""
    shown = _table("difference to the baseline")
    for name in ("benchmark", "scorer", "measure", "group", "model", "baseline"):
        shown.add_column(name)
    for name in ("value", "baseline value", "difference (interval)", "n", "p (Holm)"):
        shown.add_column(name, justify="right")
    for _, row in table.iterrows():
        names = (escape(row[name]) for name in ("benchmark", "scorer", "measure", "group", "model", "baseline"))
        places = decimals_of(row["measure"], row["value"], row["baseline_value"])
        value, baseline = (f"{row[name]:.{places}f}" for name in ("value", "baseline_value"))
        shown.add_row(*names, value, baseline, _difference_text(row, places), f"{row['n']:,}", _p_cell(row))
    return shown


def _difference_text(row: Any, places: int) -> str:
    if np.isnan(row["difference"]):
        return "missing"
    if np.isnan(row["low"]):
        return f"{row['difference']:+.{places}f}"
    return f"{row['difference']:+.{places}f} [{row['low']:+.{places}f}, {row['high']:+.{places}f}]"


def missing_text(estimates: pd.DataFrame) -> str:
    """The reasons why items are missing from the overall rows, counted per scorer."""
    overall = overall_rows(estimates)
    overall = overall[(overall["by"] == "all") & (overall["n_missing"] > 0)]
    reasons: dict[str, Counter[str]] = {}
    for _, row in overall.drop_duplicates(["model", "benchmark", "scorer"]).iterrows():
        if row["missing"]:
            reasons.setdefault(row["scorer"], Counter()).update(json.loads(row["missing"]))
    parts = [f"{scorer}: " + ", ".join(f"{why} ({n:,})" for why, n in c.items()) for scorer, c in reasons.items()]
    return "Missing pairs are excluded from n. " + "; ".join(parts) + "." if parts else ""


def _p_cell(row: Any) -> str:
    p = row["p"] if np.isnan(row["p_holm"]) else row["p_holm"]
    if np.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def neutral_text(measure: str) -> str:
    """The neutral or the ideal value of a measure; empty if it has neither."""
    if measure not in catalog.names("measures"):
        return ""
    entry = catalog.find("measures", measure)
    neutral, ideal = entry.constant("NEUTRAL"), entry.constant("IDEAL")
    if neutral is not None:
        return f"neutral {neutral:g}"
    return "" if ideal is None else f"ideal {ideal:g}"


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def plain_table(frame: pd.DataFrame, title: str, most: int = 40) -> Table:
    """The first rows of any tidy table; the files have the rest."""
    more = f" (first {most} of {len(frame):,} rows)" if len(frame) > most else ""
    table = _table(title + more)
    for name in frame:
        table.add_column(escape(str(name)), justify="left" if frame[name].dtype.kind in "OUT" else "right")
    for row in frame.head(most).itertuples(index=False):
        table.add_row(*(escape(cell_text(value)) for value in row))
    return table


def cell_text(value: Any) -> str:
    """A cell as text."""
    if isinstance(value, float) and np.isnan(value):
        return "missing"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
