"""Scatter plots of domain scores: a panel per pair of metrics, a labelled point per model, a band for the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures

if TYPE_CHECKING:
    import pandas as pd

MOST = 12
"""Panels in one figure: the strongest correlations."""


def scatters(points: pd.DataFrame, table: pd.DataFrame, domain: str) -> Callable[[], Any]:
    """Draws one domain's pairs, those with the largest |r| first (Figure 1 of Cao et al.)."""
    rows = table[(table["domain"] == domain) & table["r"].notna()]
    rows = rows.reindex(rows["r"].abs().sort_values(ascending=False).index).head(MOST)

    def draw() -> Any:
        figure, axes = figures.grid(len(rows), height=1.9)
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
    for name, a, b in zip(wide.index, x, y, strict=True):
        axis.annotate(figures.short(str(name), 16), (a, b), xytext=(2, 2), textcoords="offset points", fontsize=5.5)
    axis.set_xlabel(figures.wrapped(row["a"], 26))
    axis.set_ylabel(figures.wrapped(row["b"], 22))
    figures.head(axis, f"r = {row['r']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}], n = {row['n']}")


def _band(x: Any, y: Any, at: Any) -> tuple[Any, Any, Any]:
    """The regression line and its 95 % band."""
    from scipy.stats import t

    n, slope, centre = len(x), np.cov(x, y)[0, 1] / np.var(x, ddof=1), x.mean()
    middle = y.mean() + slope * (at - centre)
    left = np.sqrt(np.sum((y - y.mean() - slope * (x - centre)) ** 2) / (n - 2))
    reach = t.ppf(0.975, n - 2) * left * np.sqrt(1 / n + (at - centre) ** 2 / np.sum((x - centre) ** 2))
    return middle - reach, middle + reach, middle
