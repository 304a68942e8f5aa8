"""The figure of generations: what judges say of the texts about each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.errors import RunError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {"mean_score": "mean score", "negative_share": "share of negative texts"}
LINE = 32
"""Characters of a group's name in a line; a longer one has several."""
CHARACTER, MARGIN, GAP = 0.046, 0.3, 0.1
"""Inches: the width of a character, what the axis takes beside names, and what is between panels."""
NARROWEST, TICK = 0.65, 0.4
"""Inches: of a panel, with its gap, in which intervals can be distinguished; between two numbers under it, at least."""


def generations(table: pd.DataFrame) -> Any:
    """Draw the judges' scores of texts about each group: mean score and share of negative texts, with intervals.

    A panel for each measure and judge, in as few rows as the width allows, beside one list of the groups.
    """
    rows = table[(table["family"] == "generations") & (table["by"] == "group") & table["value"].notna()]
    shown = [measure for measure in SHOWN if measure in set(rows["measure"])]
    if not shown:
        raise RunError(
            "These runs have no judged texts. Run bold or plumb-prompts first to draw this figure.",
            code="empty-selection", family="generations",
        )  # fmt: skip
    rows = rows[rows["measure"].isin(shown)]
    rows = rows.assign(row=_names(rows))
    names, judges, models = (list(dict.fromkeys(rows[column])) for column in ("row", "scorer", "model"))
    places = _arranged(shown, judges, names)
    height = _height(names, len(models))
    figure, axes = figures.canvas(len(places), len(places[0]), height=height, sharey=True)
    wide = _room(names) / len(places[0]) - GAP
    fitting = wide / CHARACTER / figure.roominess  # characters of a label, as for a figure of one column
    for axis, place in zip(axes.flat, (place for row in places for place in row), strict=True):
        axis.set_visible(place is not None)
        if place is not None:
            measure, judge = place
            _draw_panel(axis, rows[(rows["measure"] == measure) & (rows["scorer"] == judge)], names, models)
            figures.head(axis, judge if len(judge) <= fitting * figure.roominess else judge.replace("/", "/ "), fitting)
            figures.label_x(axis, SHOWN[measure], fitting)
            _few_ticks(axis, max(2, int(wide / TICK) + 1))
    figures.name_rows(axes[0][0], names, LINE)
    figures.legend_below(figure, axes[0][0], 3)
    return figure


def _names(rows: pd.DataFrame) -> list[str]:
    """Groups, with their benchmark where there are several: two may have a group of one name."""
    several = rows["benchmark"].nunique() > 1
    return [f"{row['group']}, {row['benchmark']}" if several else str(row["group"]) for _, row in rows.iterrows()]


def _arranged(shown: list[str], judges: list[str], names: list[str]) -> list[list[tuple[str, str] | None]]:
    """Rows of panels: all in one, or else each measure in rows of its own, alike in length."""
    fitting = max(1, int(_room(names) / NARROWEST))
    if len(shown) * len(judges) <= fitting:
        return [[(measure, judge) for measure in shown for judge in judges]]
    across = -(-len(judges) // -(-len(judges) // fitting))
    filled = [*judges, *[""] * (-len(judges) % across)]
    starts = range(0, len(filled), across)
    return [
        [(measure, judge) if judge else None for judge in filled[start : start + across]]
        for measure in shown
        for start in starts
    ]


def _room(names: list[str]) -> float:
    """Inches that names leave for panels."""
    return figures.page_width() - MARGIN - CHARACTER * min(LINE, max(map(len, names)))


def _height(names: list[str], models: int) -> float:
    lines = max(figures.wrapped(name, LINE).count("\n") + 1 for name in names)
    return 1.0 + max(0.13, 0.1 * lines, 0.07 * models) * len(names)


def _draw_panel(axis: Any, rows: pd.DataFrame, names: list[str], models: list[str]) -> None:
    for number, model in enumerate(models):
        ours = rows[rows["model"] == model]
        at = [names.index(name) + figures.beside(number, len(models), min(0.17, 0.8 / len(models))) for name in ours["row"]]
        axis.errorbar(
            ours["value"], at, xerr=figures.reach(ours), label=figures.short(str(model), 24), **figures.dot(number)
        )


def _few_ticks(axis: Any, most: int) -> None:
    """Limit the numbers under a panel and keep them apart; by default, matplotlib may print them over each other."""
    low, high = axis.get_xlim()
    axis.locator_params(axis="x", nbins=max(5, most - 1))
    ticks = [tick for tick in axis.get_xticks() if low <= tick <= high]
    axis.set_xticks(ticks[:: max(1, -(-(len(ticks) - 1) // (most - 1)))])
    axis.set_xlim(low, high)
