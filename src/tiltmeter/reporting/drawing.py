"""Figures of estimates: intervals around the neutral point, and what fills the slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.words import headline
from tiltmeter.slot_estimating import AMONG_CANDIDATES

if TYPE_CHECKING:
    import pandas as pd

SLOT_SHOWN = {"mps": "mean probability (mps)", "mnt": "mean normalised rank (mnt)"}
ROW_HEIGHT = 0.115


def draw_estimates(table: pd.DataFrame, by: str = "bias_type") -> Any:
    """A panel per benchmark and measure: overall and each group down the side, a mark with its interval for each model.

    Each model is shown by the measure and the scorer that its headline sentence speaks of, unless the table has but one.
    """
    rows = _one_of_each(table[table["by"].isin(["all", by]) & table["value"].notna()])
    if not len(rows):
        raise TiltmeterError(
            "There is no estimate of pairs here to draw. For what fills a mask there is the figure 'slots'; association "
            "tests are drawn with --by test (seat) or --by group (ceat, ilps)."
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


def _one_of_each(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each model and benchmark the measure and scorer of its headline; all, where only one of either was asked for.

    Association tests have no headline: what stands first in their table, which is what the papers report.
    """
    import pandas as pd

    rows = rows[rows["scorer"] != "slots"]
    if rows["measure"].nunique() <= 1 or rows["scorer"].nunique() <= 1:
        return rows
    parts = []
    for _, ours in rows.groupby(["model", "benchmark"], sort=False):
        head = headline(ours) if (ours["by"] == "all").any() else ours.iloc[0]
        if head is not None:
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


def draw_slots(table: pd.DataFrame) -> Any:
    """Mean probability and mean normalised rank of each group's best match, with intervals, a row per model and group."""
    rows = table[(table["scorer"] == "slots") & (table["by"] == "group") & table["value"].notna()]
    shown = [measure for measure in SLOT_SHOWN if measure in set(rows["measure"])]
    if not shown:
        raise TiltmeterError(
            "Nothing fills a mask in these runs; a run on plumb-slots or sexism has what this figure draws."
        )
    several = rows["benchmark"].nunique() > 1
    rows = rows.assign(row=[_slot_row(row, several) for _, row in rows.iterrows()])
    names, groups = list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["group"]))
    figure, axes = figures.grid(len(shown), each=1, height=0.6 + 0.17 * len(names))
    for axis, measure in zip(axes, shown, strict=True):
        for number, group in enumerate(groups):
            ours = rows[(rows["measure"] == measure) & (rows["group"] == group)]
            at = [names.index(row) for row in ours["row"]]
            axis.errorbar(ours["value"], at, xerr=figures.reach(ours), label=group, **figures.dot(number))
        figures.name_rows(axis, names)
        counts = rows[rows["measure"] == measure]["n"]
        figures.label_x(axis, f"{SLOT_SHOWN[measure]}, n = {_range(counts)} matches")
        axis.set_xlim(left=0, right=axis.get_xlim()[1] + 0.01)
    if rows["note"].astype(str).str.contains(AMONG_CANDIDATES, regex=False).any():
        figures.head(axes[0], "causal models: among the listed terms only")
    figures.legend_below(figure, axes[0], 4)
    return figure


def _slot_row(row: Any, several: bool) -> str:
    place = f"{figures.short(row['model'], 20)}, {row['group']}"
    return f"{place}, {row['benchmark']}" if several else place


def _range(counts: Any) -> str:
    return f"{counts.min():,}" if counts.nunique() == 1 else f"{counts.min():,} to {counts.max():,}"
