"""Figures of estimates: intervals around the neutral point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.told import stories_of

if TYPE_CHECKING:
    import pandas as pd

ROW_HEIGHT = 0.115


def draw_estimates(table: pd.DataFrame, by: str = "bias_type") -> Any:
    """A panel per benchmark and measure: overall and each group down the side, a mark with its interval for each model.

    Each model is shown by the measure and the scorer that its headline sentence speaks of, unless the table has but one.
    """
    rows = _one_of_each(table, table[table["by"].isin(["all", by]) & table["value"].notna()])
    if not len(rows):
        raise TiltmeterError(
            f"There is no estimate of everything, or by {by}, here to draw. These runs have estimates by: "
            f"{', '.join(dict.fromkeys(table['by']))}. Choose one with --by."
        )
    series = _series(rows)
    places = [ours for _, ours in series.groupby(["benchmark", "measure"], sort=False)]
    heights = [0.6 + ROW_HEIGHT * ours["series"].nunique() * ours["group"].nunique() for ours in places]
    figure, axes = figures.grid(len(places), each=1, height=heights)
    labels = list(dict.fromkeys(series["series"]))
    for axis, ours in zip(axes, places, strict=True):
        _panel(axis, ours, labels)
    figures.legend_below(figure, axes, 3)
    return figure


def _one_of_each(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Of each model and benchmark the measure and scorer of its headline; all, where only one of either was asked for.

    What has no headline is shown by what stands first in its table, which is what the papers report.
    """
    import pandas as pd

    if rows["measure"].nunique() <= 1 or rows["scorer"].nunique() <= 1:
        return rows
    heads = {(story.model, story.benchmark): story.head for story in stories_of(table) if story.head is not None}
    parts = []
    for (model, benchmark), ours in rows.groupby(["model", "benchmark"], sort=False):
        head = heads.get((model, benchmark))
        if head is None and (ours["by"] == "all").any():
            continue
        head = ours.iloc[0] if head is None else head
        parts.append(ours[(ours["measure"] == head["measure"]) & (ours["scorer"] == head["scorer"])])
    return pd.concat(parts) if parts else rows.head(0)


def _series(rows: pd.DataFrame) -> pd.DataFrame:
    """With what the legend calls each row: its model, and the scorer where a panel has several of one model."""
    several = rows.groupby(["benchmark", "measure", "model"])["scorer"].nunique().max() > 1
    named = [
        figures.short(model, 24) + (f", {scorer}" if several else "") for model, scorer in rows[["model", "scorer"]].values
    ]
    return rows.assign(series=named)


def _panel(axis: Any, rows: pd.DataFrame, labels: list[str]) -> None:
    """Colours and marks are those of the whole figure, places those of the panel."""
    groups = [group for group in ("all", *sorted(set(rows["group"]) - {"all"})) if group in set(rows["group"])]
    here = [label for label in labels if label in set(rows["series"])]
    for place, label in enumerate(here):
        ours = rows[rows["series"] == label]
        at = [groups.index(group) + figures.beside(place, len(here), min(0.2, 0.8 / len(here))) for group in ours["group"]]
        axis.errorbar(ours["value"], at, xerr=figures.reach(ours), label=label, **figures.dot(labels.index(label)))
    neutral = rows["neutral"].iloc[0]
    if not np.isnan(neutral):
        figures.neutral_line(axis, neutral, label="neutral")
    sizes = rows.groupby("group")["n"].max()
    figures.name_rows(axis, [f"{group}, n = {sizes[group]:,}" for group in groups])
    if len(groups) > 1 and groups[0] == "all":
        axis.axhline(0.5, color=figures.GREY, linewidth=0.4)  # between the whole and its parts
    scorers = " or ".join(dict.fromkeys(rows["scorer"]))
    figures.head(axis, str(rows["benchmark"].iloc[0]))
    figures.label_x(axis, f"{rows['measure'].iloc[0]} by {scorers}, with interval")
