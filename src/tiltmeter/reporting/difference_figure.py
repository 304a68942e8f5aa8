"""The figure of `compare`: paired differences between models with their intervals, around none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MOST = 40
"""Rows that can be read in one figure."""


def is_differences(what: Any) -> bool:
    """Return True for a table of `compare`."""
    return {"baseline", "difference", "low", "high", "measure"} <= set(getattr(what, "columns", ()))


def draw_differences(table: pd.DataFrame, width: str | float = "one") -> Any:
    """Draw the differences of all items, or of groups where there are no others.

    Raises:
        InputError: No difference has an interval (`empty-selection`).
    """
    known = table[table["low"].notna() & table["difference"].notna()]
    rows = known[known["by"] == "all"] if (known["by"] == "all").any() else known
    if not len(rows):
        raise InputError("No difference in this table has an interval to draw.", code="empty-selection")
    rows = rows.head(MOST).reset_index(drop=True)
    rows = rows.assign(row=[_label(row) for row in rows.to_dict("records")])
    names, models = list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["model"]))
    with figures.house_style(width):
        figure, axes = figures.canvas(1, height=0.9 + 0.24 * len(names))
        axis = axes[0, 0]
        for number, model in enumerate(models):
            some = rows[rows["model"] == model]
            figures.interval_dots(axis, some, names, ("row", "difference"), (number, len(models)), figures.short(model))
        figures.neutral_line(axis, 0.0, label="no difference")
        figures.name_rows(axis, names, 30)
        figures.label_x(axis, f"difference from {figures.short(str(rows['baseline'].iloc[0]))}, n = {rows['n'].max():,}")
        figures.legend_below(figure, axis, 2)
        figure.draw_without_rendering()
    return figure


def _label(row: dict[str, Any]) -> str:
    group = "" if row["by"] == "all" else f", {row['group']}"
    return f"{row['benchmark']}: {row['measure']} {row['scorer']}{group}"
