"""Figures of estimates: intervals around the neutral point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog, figures
from tiltmeter.errors import UsageError
from tiltmeter.reporting.narratives import stories_of

if TYPE_CHECKING:
    import pandas as pd

ROW_HEIGHT = 0.115


def draw_estimates(
    table: pd.DataFrame, by: str = "bias_type", *, all_metrics: bool = False, confidence: float | None = None
) -> Any:
    """A panel per benchmark and measure: rows for the overall value and each group, a mark with interval per model.

    Args:
        table: Estimates.
        by: The column of the groups.
        all_metrics: Draw every measure by every scorer. Otherwise each model is shown by those of its headline
            sentence, unless the table has only one of either; `left_out` of the figure names the others.
        confidence: Level of the intervals, for the axis; None if it is unknown.
    """
    there = table[table["by"].isin(["all", by])]
    rows = there if all_metrics else _one_of_each(table, there)
    if not rows["value"].notna().any():
        raise UsageError(
            f"There are no overall estimates and none by {by} to draw. These runs have estimates by: "
            f"{', '.join(dict.fromkeys(table['by']))}. Choose one with --by.",
            code="empty-selection", by=by,
        )  # fmt: skip
    series = _series(rows)
    panels = [panel for _, panel in series.groupby(["benchmark", "measure"], sort=False)]
    places = [panel for panel in panels if panel["value"].notna().any()]
    heights = [0.6 + ROW_HEIGHT * panel["series"].nunique() * panel["group"].nunique() for panel in places]
    figure, axes = figures.grid(len(places), each=1, height=heights)
    labels = list(dict.fromkeys(series["series"]))
    for axis, panel in zip(axes, places, strict=True):
        _panel(axis, panel, labels, confidence)
    figures.legend_below(figure, axes, 3)
    figure.left_out = {
        column: [name for name in dict.fromkeys(there[column]) if name not in set(rows[column])]
        for column in ("measure", "scorer")
    }
    return figure


def _one_of_each(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """For each model and benchmark, the measure and scorer of its headline; all rows if there is only one of either.

    A model without a headline is shown by the first row of its table, which is what the papers report.
    """
    import pandas as pd

    if rows["measure"].nunique() <= 1 or rows["scorer"].nunique() <= 1:
        return rows
    heads = {(story.model, story.benchmark): story.head for story in stories_of(table) if story.head is not None}
    parts = []
    for (model, benchmark), part in rows.groupby(["model", "benchmark"], sort=False):
        head = heads.get((model, benchmark))
        if head is None and (part["by"] == "all").any():
            continue
        head = part.iloc[0] if head is None else head
        parts.append(part[(part["measure"] == head["measure"]) & (part["scorer"] == head["scorer"])])
    return pd.concat(parts) if parts else rows.head(0)


def _series(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with their names in the legend: the model, and the scorer where a panel has several of one model."""
    several = rows.groupby(["benchmark", "measure", "model"])["scorer"].nunique().max() > 1
    named = [
        figures.short(model, 24) + (f", {scorer}" if several else "") for model, scorer in rows[["model", "scorer"]].values
    ]
    return rows.assign(series=named)


def _panel(axis: Any, rows: pd.DataFrame, labels: list[str], confidence: float | None) -> None:
    """Draws a panel; colours and marks are the same in all panels."""
    groups = [group for group in ("all", *sorted(set(rows["group"]) - {"all"})) if group in set(rows["group"])]
    here = [label for label in labels if label in set(rows["series"])]
    for place, label in enumerate(here):
        of_series = rows[rows["series"] == label]
        shift = figures.beside(place, len(here), min(0.2, 0.8 / len(here)))
        at = [groups.index(group) + shift for group in of_series["group"]]
        axis.errorbar(of_series["value"], at, xerr=figures.reach(of_series), label=label, **figures.dot(labels.index(label)))
    neutral = rows["neutral"].iloc[0]
    if not np.isnan(neutral):
        figures.neutral_line(axis, neutral, label="neutral")
    sizes, known = rows.groupby("group")["n"].max(), set(rows[rows["value"].notna()]["group"])
    named = [f"{group}, n = {sizes[group]:,}{'' if group in known else ': no value'}" for group in groups]
    figures.name_rows(axis, named)
    if len(groups) > 1 and groups[0] == "all":
        axis.axhline(0.5, color=figures.GREY, linewidth=0.4)  # between the whole and its parts
    scorers = " or ".join(dict.fromkeys(rows["scorer"]))
    figures.head(axis, str(rows["benchmark"].iloc[0]))
    interval = "interval" if confidence is None else f"{100 * confidence:g}\u00a0%\u00a0CI"
    figures.label_x(axis, f"{_with_unit(str(rows['measure'].iloc[0]))} by {scorers}, with {interval}")


def _with_unit(measure: str) -> str:
    """The measure, with its unit if it has one and is known here."""
    unit = catalog.find("measures", measure).spec.unit if measure in catalog.names("measures") else ""
    return f"{measure} ({unit})" if unit else measure
