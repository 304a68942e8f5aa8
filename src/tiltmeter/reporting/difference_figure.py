"""The figure of `compare`: paired differences between models with their intervals, around none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import catalog, figures
from tiltmeter.errors import InputError
from tiltmeter.families.kit.story import is_percentage

if TYPE_CHECKING:
    import pandas as pd

PERCENT = "percentage points"
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
    panels = dict(list(rows.groupby(rows["measure"].map(_unit), sort=False)))
    models, counts = list(dict.fromkeys(rows["model"])), [some["row"].nunique() for some in panels.values()]
    with figures.house_style(width):
        how = {"height_ratios": [count + 1 for count in counts]}
        height = 0.9 + 0.24 * sum(counts) / len(counts)
        figure, axes = figures.canvas(len(panels), height=height, gridspec_kw=how)
        for axis, (unit, of_unit) in zip(axes[:, 0], panels.items(), strict=True):
            names = list(dict.fromkeys(of_unit["row"]))
            for number, model in enumerate(models):
                some = of_unit[of_unit["model"] == model]
                figures.interval_dots(axis, some, names, ("row", "difference"), (number, len(models)), figures.short(model))
            figures.neutral_line(axis, 0.0, label="no difference")
            figures.name_rows(axis, names, 30)
            of = f" ({unit})" if len(panels) > 1 or unit == PERCENT else ""
            figures.label_x(axis, f"difference from {figures.short(str(rows['baseline'].iloc[0]))}{of}")
        figures.legend_below(figure, list(axes[:, 0]), 2)
        figure.draw_without_rendering()
    return figure


def _unit(measure: str) -> str:
    """The unit of a measure; a measure without one has an axis of its own."""
    if is_percentage(measure):
        return PERCENT
    unit = catalog.find("measures", measure).spec.unit if measure in catalog.names("measures") else ""
    return PERCENT if unit == "%" else unit or measure


def _label(row: dict[str, Any]) -> str:
    group = "" if row["by"] == "all" else f", {row['group']}"
    return f"{row['benchmark']}: {row['measure']} {row['scorer']}{group}, n = {row['n']:,}"
