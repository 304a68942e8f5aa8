"""Figures of a calibration: readings over doses, and the order of metrics by sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tiltmeter import figures

if TYPE_CHECKING:
    import pandas as pd

SHOWN, PANELS, LONGEST = 12, 6, 27
USUAL = ("bias_score", "effect_size")
"""Measures that need not be named."""


def calibration_figures(tables: Mapping[str, pd.DataFrame]) -> dict[str, Callable[[], Any]]:
    """For each base model its curves, and for each of its domains the order."""
    drawn: dict[str, Callable[[], Any]] = {}
    main = tables["calibration"]
    for model, rows in main.groupby("model", sort=False):
        ending = "" if main["model"].nunique() == 1 else f"-{figures.short(str(model), 30).replace('/', '-')}"
        if rows["sensitivity"].notna().any():
            drawn[f"sensitivity{ending}"] = partial(_order, rows)
        drawn[f"dose_response{ending}"] = partial(_curves, rows, tables["curve"])
    return drawn


def _order(rows: pd.DataFrame) -> Any:
    """The most sensitive metrics of each domain, with intervals; the line is where the largest dose is just noticed."""
    domains = list(rows.groupby("domain", sort=False))
    shown = {domain: some.sort_values("rank").head(SHOWN) for domain, some in domains}
    figure, axes = figures.grid(len(shown), each=1, height=[0.5 + 0.17 * len(some) for some in shown.values()])
    for axis, (domain, some) in zip(axes, shown.items(), strict=True):
        for n, (_, row) in enumerate(some.iterrows()):
            reach = [[row["sensitivity"] - row["sensitivity_low"]], [row["sensitivity_high"] - row["sensitivity"]]]
            axis.errorbar([row["sensitivity"]], [n], xerr=reach, **figures.dot(0 if row["rank_best"] == 1 else 1))
        figures.name_rows(axis, [_name(row) for row in some.to_dict("records")])
        figures.neutral_line(axis, 3.96)
        figures.head(axis, f"{some['model'].iloc[0]}, {domain}")
    figures.label_x(axes[-1], "sensitivity; line: a dose of 1 is noticed")
    return figure


def _curves(rows: pd.DataFrame, curve: pd.DataFrame) -> Any:
    """Change against no dose: for each domain the most sensitive metric of every benchmark."""
    best = rows.sort_values("rank").drop_duplicates(["domain", "benchmark"])
    panels = list(best.groupby("domain", sort=False))
    figure, axes = figures.grid(len(panels), each=1, height=2.6)
    for axis, (domain, some) in zip(axes, panels, strict=True):
        for n, (_, row) in enumerate(some.head(PANELS).iterrows()):
            mine = curve[
                (curve["model"] == row["model"]) & (curve["metric"] == row["metric"]) & (curve["domain"] == domain)
            ].sort_values("dose")
            spread = row["spread"] or 1.0
            axis.plot(mine["dose"], mine["change"] / spread, label=_name(row), **figures.look(n))
            figures.band(axis, mine["dose"], mine["low"] / spread, mine["high"] / spread, n)
        figures.neutral_line(axis, 0.0, across=True)
        figures.head(axis, f"{some['model'].iloc[0]}, {domain}")
        axis.set_ylabel("change / spread")
        figures.label_x(axis, "dose")
        axis.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(-0.1, -0.28), borderaxespad=0.0)
    return figure


def _name(row: Any) -> str:
    """Which benchmark, of it what, and how; the longest are cut at their end."""
    group = "" if row["by"] == "bias_type" else f" {row['group']}"
    asked = "" if row["scorer"] in ("mean", "slots") else f", {str(row['scorer']).removeprefix('plumb-')}"
    what = "" if row["measure"] in USUAL else f", {row['measure']}"
    name = f"{row['benchmark']}{group}{asked}{what}"
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
