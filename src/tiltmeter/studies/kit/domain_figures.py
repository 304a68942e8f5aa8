"""Scatter plots of domain scores: a panel per pair of metrics, a labelled point per model, a band for the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import range_text, signed_text

if TYPE_CHECKING:
    import pandas as pd

MOST = 12
"""Panels in one figure: the strongest correlations."""

NEAR = 6
"""Points above or below its point from where on a name has a line to it."""
PLACES: list[tuple[tuple[float, float], str]] = [
    ((beside, up), side)
    for up in (1, 7, -7, 13, -13, 19, -19, 26, 33, 40, 47)
    for beside, side in ((4, "left"), (-4, "right"))
]
"""Places of a label, the best first: points to the side and above."""


def scatters(points: pd.DataFrame, table: pd.DataFrame, domain: str) -> Callable[[], Any]:
    """Draws one domain's pairs, those with the largest |r| first (Figure 1 of Cao et al.)."""
    rows = table[(table["domain"] == domain) & table["r"].notna()]
    rows = rows.reindex(rows["r"].abs().sort_values(ascending=False).index).head(MOST)

    def draw() -> Any:
        figure, axes = figures.grid(len(rows), height=2.1, each=1)
        for axis, row in zip(axes, rows.to_dict("records"), strict=True):
            _panel(axis, points[points["domain"] == domain], row)
        return figure

    return draw


def _panel(axis: Any, points: pd.DataFrame, row: dict[str, Any]) -> None:
    wide = points.pivot_table(index="model", columns="metric", values="value", sort=False)[[row["a"], row["b"]]].dropna()
    x, y = wide[row["a"]].to_numpy(), wide[row["b"]].to_numpy()
    at = np.linspace(x.min(), x.max(), 40)
    low, high, middle = _band(x, y, at)
    axis.fill_between(at, low, high, color=figures.GREY, alpha=0.18, linewidth=0)
    axis.plot(at, middle, color=figures.GREY, linewidth=0.9)
    axis.scatter(x, y, s=9, color=figures.COLOURS[0], zorder=3)
    room = 0.12 * (np.ptp(y) or 1.0)
    axis.set_ylim(y.min() - room, y.max() + 2 * room)  # the band may reach further than any score can
    axis.margins(x=0.12)
    _name(axis, [figures.short(str(name), 22) for name in wide.index], x, y)
    axis.set_xlabel(figures.wrapped(row["a"], 26))
    axis.set_ylabel(figures.wrapped(row["b"], 22))
    figures.head(
        axis,
        f"r = {signed_text(row['r'], 2)} {range_text(row['low'], row['high'], 2, signed=True)}, n = {row['n']}",
    )


def _name(axis: Any, names: list[str], x: Any, y: Any) -> None:
    """Writes each name beside its point, where it covers no other name; else further off, with a line to it."""
    axis.figure.canvas.draw()
    taken: list[Any] = []
    for at in np.argsort(-y):
        label = axis.annotate(names[at], (x[at], y[at]), (4, 1), textcoords="offset points", fontsize=5.5, zorder=4)
        for place, side in PLACES:
            label.set(position=place, horizontalalignment=side)
            box = label.get_window_extent()
            if not any(box.overlaps(other) for other in taken) and _inside(axis, box):
                break
        else:
            label.set(position=PLACES[0][0], horizontalalignment="left")
        if abs(label.get_position()[1]) > NEAR:
            line = {"arrowstyle": "-", "linewidth": 0.3, "color": figures.GREY, "shrinkA": 0, "shrinkB": 2}
            axis.annotate("", (x[at], y[at]), label.get_position(), textcoords="offset points", arrowprops=line)
        taken.append(label.get_window_extent())


def _inside(axis: Any, box: Any) -> bool:
    edge = axis.get_window_extent()
    return bool(box.x0 >= edge.x0 and box.x1 <= edge.x1 + 0.15 * edge.width and box.y0 >= edge.y0 and box.y1 <= edge.y1)


def _band(x: Any, y: Any, at: Any) -> tuple[Any, Any, Any]:
    """The regression line and its 95 % band."""
    from scipy.stats import t

    n, slope, centre = len(x), np.cov(x, y)[0, 1] / np.var(x, ddof=1), x.mean()
    middle = y.mean() + slope * (at - centre)
    left = np.sqrt(np.sum((y - y.mean() - slope * (x - centre)) ** 2) / (n - 2))
    reach = t.ppf(0.975, n - 2) * left * np.sqrt(1 / n + (at - centre) ** 2 / np.sum((x - centre) ** 2))
    return middle - reach, middle + reach, middle
