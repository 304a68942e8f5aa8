"""Figures of a calibration: readings over doses, and the order of metrics by sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.studies.kit.dosed_runs import TAUGHT_NAMES, is_share
from tiltmeter.studies.kit.treatment_tables import LEVEL

if TYPE_CHECKING:
    import pandas as pd

SHOWN, PANELS = 12, 7
LEFT, OUTER = 5, (-0.5, 2.0)
"""Rows of either kind, and the limits of what is left: intervals may end far beyond."""
LINE, LEGEND = 34, 46
"""Characters of a line, of names beside rows and in a legend."""
DETECTED = 3.96
"""The sensitivity at which a dose of 1 is just detected (stats.doses.smallest_dose)."""


def calibration_figures(tables: Mapping[str, pd.DataFrame]) -> dict[str, Callable[[], Any]]:
    """For each base model its curves, and for each of its domains the order."""
    drawn: dict[str, Callable[[], Any]] = {}
    main = tables["calibration"]
    for model, rows in main.groupby("model", sort=False):
        ending = "" if main["model"].nunique() == 1 else f"-{figures.short(str(model), 30).replace('/', '-')}"
        if rows["sensitivity"].notna().any():
            drawn[f"sensitivity{ending}"] = partial(_order, rows)
        drawn[f"dose_response{ending}"] = partial(_curves, rows, tables["curve"])
        if "treated" in tables and len(clear := _clear(tables["treated"], str(model))):
            drawn[f"treated{ending}"] = partial(_left, clear)
    return drawn


def _clear(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """Select rows that followed the dose before: the taught sentences and the metrics that showed it best."""
    rows = rows[(rows["model"] == model) & (rows["p_before"] < LEVEL) & rows["left_low"].notna()]
    rows = rows.assign(
        taught=rows["benchmark"].isin(TAUGHT_NAMES),
        seen=rows["before"].abs() / (rows["before_high"] - rows["before_low"]),
    )
    rows = rows[~rows["taught"] | rows["measure"].map(is_share).astype(bool)].sort_values(
        "seen", ascending=False, kind="stable"
    )
    return (
        rows.groupby(["domain", "method", "taught"], sort=False)
        .head(LEFT)
        .sort_values("taught", ascending=False, kind="stable")
    )


def _left(rows: pd.DataFrame) -> Any:
    """Plot the remaining dose by method: in the sentences that were taught, and according to metrics."""
    panels = list(rows.groupby(["domain", "method"], sort=False))
    names = [[_name(row) for row in some.to_dict("records")] for _, some in panels]
    heights = [0.5 + len(some) * (0.06 + 0.1 * max(map(_lines, some))) for some in names]
    figure, axes = figures.grid(len(panels), each=1, height=heights)
    for axis, ((domain, method), some), called in zip(axes, panels, names, strict=True):
        for n, (_, row) in enumerate(some.iterrows()):
            told = "sentences like those that were taught" if row["taught"] else "metrics"
            reach = [[row["left"] - row["left_low"]], [row["left_high"] - row["left"]]]
            axis.errorbar([row["left"]], [n], xerr=reach, label=told, **figures.dot(0 if row["taught"] else 1))
        figures.name_rows(axis, called, LINE)
        axis.tick_params(axis="y", labelsize=6)
        axis.set_xlim(*OUTER)
        figures.neutral_line(axis, 1.0, label="all of it is left")
        figures.head(axis, f"{some['model'].iloc[0]}, {domain}, {method}")
    for axis in figures.lowest(axes):
        figures.label_x(axis, "share of the dose's effect that is left", 30)
    figures.legend_below(figure, axes, columns=1)
    return figure


def _order(rows: pd.DataFrame) -> Any:
    """The most sensitive metrics of each domain, with intervals; the line is where the largest dose is just detected."""
    domains = list(rows.groupby("domain", sort=False))
    shown = {domain: some.sort_values("rank").head(SHOWN) for domain, some in domains}
    names = {domain: [_name(row) for row in some.to_dict("records")] for domain, some in shown.items()}
    heights = [0.5 + len(some) * (0.06 + 0.1 * max(map(_lines, some))) for some in names.values()]
    figure, axes = figures.grid(len(shown), each=1, height=heights)
    for axis, (domain, some) in zip(axes, shown.items(), strict=True):
        for n, (_, row) in enumerate(some.iterrows()):
            reach = [[row["sensitivity"] - row["sensitivity_low"]], [row["sensitivity_high"] - row["sensitivity"]]]
            axis.errorbar([row["sensitivity"]], [n], xerr=reach, **_place(row))
        figures.name_rows(axis, names[domain], LINE)
        axis.tick_params(axis="y", labelsize=6)
        figures.neutral_line(axis, DETECTED, label="here and beyond, a dose of 1 is detected")
        figures.head(axis, f"{some['model'].iloc[0]}, {domain}")
    for axis in figures.lowest(axes):
        figures.label_x(axis, "sensitivity: change per dose / spread over seeds", 30)
    figures.legend_below(figure, axes, columns=1)
    return figure


def _place(row: pd.Series) -> dict[str, Any]:
    """Style of a point: possibly the best metric, or not."""
    best = row["rank_best"] == 1
    return figures.dot(0 if best else 1) | {
        "label": "not distinguishable from the best" if best else "less sensitive than the best"
    }


def _curves(rows: pd.DataFrame, curve: pd.DataFrame) -> Any:
    """Change against no dose: for each domain the most sensitive metric of every benchmark. A benchmark has one look."""
    best = rows.sort_values("rank").drop_duplicates(["domain", "benchmark"])
    panels = [(domain, some.head(PANELS)) for domain, some in best.groupby("domain", sort=False)]
    looks = {name: n for n, name in enumerate(dict.fromkeys(name for _, some in panels for name in some["benchmark"]))}
    most = max(sum(_lines(_name(row), LEGEND) for row in some.to_dict("records")) for _, some in panels)
    figure, axes = figures.grid(len(panels), each=1, height=1.9 + 0.11 * most)
    for axis, (domain, some) in zip(axes, panels, strict=True):
        for _, row in some.iterrows():
            n = looks[row["benchmark"]]
            mine = curve[
                (curve["model"] == row["model"]) & (curve["metric"] == row["metric"]) & (curve["domain"] == domain)
            ].sort_values("dose")
            spread = row["spread"] or 1.0
            axis.plot(mine["dose"], mine["change"] / spread, label=figures.wrapped(_name(row), LEGEND), **figures.look(n))
            figures.band(axis, mine["dose"], mine["low"] / spread, mine["high"] / spread, n)
        figures.neutral_line(axis, 0.0, across=True)
        figures.head(axis, f"{some['model'].iloc[0]}, {domain}: change since no dose, and its interval")
        axis.set_ylabel("change / spread")
        axis.locator_params(axis="y", integer=True, nbins=6)
        axis.set_xticks(sorted(curve["dose"].unique()))
        figures.label_x(axis, "dose")
        axis.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(-0.1, -0.28), borderaxespad=0.0)
    return figure


def _lines(name: str, most: int = LINE) -> int:
    return figures.wrapped(name, most).count("\n") + 1


def _name(row: Any) -> str:
    """Name a metric: benchmark, group, scorer and measure."""
    group = "" if row["by"] == "bias_type" else f" {row['group']}"
    asked = "" if row["scorer"] in ("mean", "slots") else f", {str(row['scorer']).removeprefix('plumb-')}"
    what = "" if is_share(row["measure"]) else f", {row['measure']}"
    return f"{row['benchmark']}{group}{asked}{what}"
