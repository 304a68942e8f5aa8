"""Before and after as dumbbells: for each measure where the base is, where each model is, and its interval."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tiltmeter import figures
from tiltmeter.studies.kit.before_after import CLOSER, FURTHER, method_of
from tiltmeter.studies.kit.finding import Draw

PANELS = 12
"""Most panels of one figure."""
LINE = 12
"""Characters of a line of a panel's title."""
FAR = 30.0
"""Values that lie so many times apart are drawn by their logarithms."""
TONES = {CLOSER: figures.COLOURS[2], FURTHER: figures.COLOURS[1]}
NAMES = {CLOSER: "closer to the target", FURTHER: "further from it", "": "not distinguishable, or across"}


def dumbbell_figures(table: Any) -> dict[str, Draw]:
    """Gains next to costs in one figure; with a cost, also each model's cost against its gain."""
    if table is None or not (table["kind"] != "other").any():
        return {}
    known = table[(table["kind"] != "other") & np.isfinite(table["difference"])]
    drawn: dict[str, Draw] = {"before_and_after": partial(draw_dumbbells, known)} if len(known) else {}
    if {"bias", "cost"} <= set(known["kind"]):
        drawn["gain_and_cost"] = partial(draw_prices, known)
    return drawn


def panels_of(measured: Any) -> list[tuple[str, Any]]:
    """A title and the rows of each panel, measures of bias first; of many, those that most models have."""
    bias, costs = list(_panels(measured, "bias")), [*_panels(measured, "cost"), *_panels(measured, "quality")]
    return [*bias[: max(1, PANELS - len(costs))], *costs][:PANELS]


def _panels(measured: Any, kind: str) -> Iterator[tuple[str, Any]]:
    of_kind = measured[measured["kind"] == kind]
    for (benchmark, measure, group), part in of_kind.groupby(["benchmark", "measure", "group"], sort=False):
        where = "" if group == "all" else f", {group}"
        yield f"{'' if kind == 'bias' else f'{kind}: '}{measure}{where}, {benchmark}, n = {part['n'].max():,}", part


def draw_dumbbells(measured: Any) -> Any:
    """The base is an open ring, the model a dot with its paired interval, the target a dashed line."""
    models = list(dict.fromkeys(measured["model"]))
    parts = panels_of(measured)
    lines = max(figures.wrapped(title, LINE).count("\n") + 1 for title, _ in parts)
    rows = -(-len(parts) // figures.side_by_side(2))
    height = 0.36 + 0.1 * lines + 0.13 * len(models) + 0.5 / rows  # at last the part of the legend
    figure, axes = figures.grid(len(parts), height=height, sharey=True)
    for axis, (title, part) in zip(axes, parts, strict=True):
        for row in part.to_dict("records"):
            _dumbbell(axis, models.index(row["model"]), row)
        target = float(part["target"].iloc[0])
        spread = part[["before", "after"]].to_numpy()
        if np.isfinite(target) and abs(target - spread).min() <= 3 * max(np.ptp(spread), 1e-9):
            figures.neutral_line(axis, target)
        if 0 < target < spread.min() and spread.max() > FAR * spread.min():  # one ruined model must not hide all others
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.xaxis.set_minor_formatter(lambda *_: "")
        figures.head(axis, title, LINE)
    for axis in figures.leftmost(axes):
        figures.name_rows(axis, [figures.short(model, 21) for model in models])
    for verdict, name in NAMES.items():
        axes[0].plot([], [], "o", color=TONES.get(verdict, figures.GREY), label=name)
    axes[0].plot([], [], "o", color="white", markeredgecolor="black", markeredgewidth=0.7, label="before")
    figures.legend_below(figure, axes[0], 2)
    return figure


def _dumbbell(axis: Any, at: int, row: dict[str, Any]) -> None:
    colour = TONES.get(row["verdict"], figures.GREY)
    axis.plot([row["before"], row["after"]], [at, at], color=colour, linewidth=1.0, alpha=0.6, zorder=1)
    if np.isfinite(row["low"]):
        ends = [row["before"] + row["low"], row["before"] + row["high"]]
        axis.plot(ends, [at, at], color=colour, linewidth=2.6, alpha=0.35, solid_capstyle="butt", zorder=2)
    axis.plot(
        [row["before"]], [at], "o", color="white", markeredgecolor="black", markeredgewidth=0.6, markersize=3, zorder=3
    )
    axis.plot([row["after"]], [at], "o", color=colour, markersize=3.5, zorder=4)


def prices(measured: Any) -> Any:
    """For each model: the mean share of the distance from the target that is gone, and the change of the first cost."""
    import pandas as pd

    costs = measured[measured["kind"] == "cost"]
    first = costs.iloc[0]
    rows = []
    for model, part in measured.groupby("model", sort=False):
        bias = part[(part["kind"] == "bias") & (part["before"] != part["target"])]
        price = part[(part["measure"] == first["measure"]) & (part["benchmark"] == first["benchmark"])]
        if len(bias) and len(price):
            left = (bias["after"] - bias["target"]).abs() / (bias["before"] - bias["target"]).abs()
            cost = price.iloc[0]
            ends = {name: 100 * cost[name] / cost["before"] for name in ("difference", "low", "high")}
            rows.append({"model": model, "gain": float(100 * (1 - left.median()))} | ends)
    return pd.DataFrame(rows)


def draw_prices(measured: Any) -> Any:
    """Gain to the right, and by how much a measure of language ability changed; its label says which way is worse."""
    table = prices(measured)
    costs = measured[measured["kind"] == "cost"].iloc[0]
    figure, axes = figures.canvas(height=2.6)
    axis = axes[0, 0]
    methods = list(dict.fromkeys(table["model"].map(method_of)))
    for number, method in enumerate(methods):
        part = table[table["model"].map(method_of) == method]
        axis.errorbar(part["gain"], part["difference"], yerr=_reach(part), label=method, **figures.dot(number))
    figures.neutral_line(axis, 0.0)
    figures.neutral_line(axis, 0.0, across=True)
    figures.head(axis, f"{costs['benchmark']}: n = {costs['n']:,}")
    figures.label_x(axis, "gain: median share of the distance from neutral that is gone, %", 46)
    worse = "below" if costs["target"] > costs["before"] else "above"
    axis.set_ylabel(figures.wrapped(f"change of {costs['measure']} on {costs['benchmark']}, % ({worse} 0: worse)", 26))
    figures.legend_below(figure, axis, 3)
    return figure


def _reach(part: Any) -> Any:
    """Lengths of intervals to either side; 0 where there is none."""
    ends = np.array([part["difference"] - part["low"], part["high"] - part["difference"]], dtype=np.float64)
    return np.nan_to_num(ends).clip(0)
