"""The figure of choices: accuracy and bias of each category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.errors import RunError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {
    "accuracy_amb": "accuracy, ambiguous", "s_amb": "bias (s_amb)", "accuracy_dis": "accuracy, disambiguated",
    "s_dis": "bias (s_dis)",
}  # fmt: skip
ALL = "all questions"


def choices(table: pd.DataFrame) -> Any:
    """Accuracy beside bias, of all questions and of each category, with intervals over templates."""
    rows = table[(table["family"] == "choices") & table["by"].isin(["all", "bias_type"]) & table["value"].notna()]
    shown = [measure for measure in SHOWN if measure in set(rows["measure"])]
    if not shown:
        raise RunError(
            "These runs have no answers to questions with choices. Run plumb-choices or bbq first to draw this figure.",
            code="empty-selection", family="choices",
        )  # fmt: skip
    several = rows["benchmark"].nunique() > 1
    rows = rows.assign(row=[_row(row, several) for _, row in rows.iterrows()])
    names = list(dict.fromkeys(rows["row"]))
    series = list(dict.fromkeys(zip(rows["model"], rows["scorer"], strict=True)))
    height = 0.6 + 0.16 * len(names) * max(1, len(series) / 2)
    figure, axes = figures.grid(len(shown), each=2, height=height, sharey=True)
    for axis, measure in zip(axes, shown, strict=True):
        here = rows[rows["measure"] == measure]
        for number, (model, scorer) in enumerate(series):
            ours = here[(here["model"] == model) & (here["scorer"] == scorer)]
            at = [names.index(name) + figures.beside(number, len(series), 0.8 / len(series)) for name in ours["row"]]
            label = f"{figures.short(str(model), 22)}, {scorer}"
            axis.errorbar(ours["value"], at, xerr=figures.reach(ours), label=label, **figures.dot(number))
        is_bias = measure.startswith("s_")
        if is_bias:
            figures.neutral_line(axis, 0)
        axis.set_xlim(*(-105, 105) if is_bias else (-5, 105))
        figures.label_x(axis, SHOWN[measure], 17)
    figures.name_rows(axes[0], names)
    figures.head(axes[0], f"n = {_range(rows[rows['by'] == 'all']['n'])} questions", 17)
    figures.legend_below(figure, axes[0], 2)
    return figure


def _row(row: Any, several: bool) -> str:
    name = ALL if row["by"] == "all" else str(row["group"]).replace("_", " ")
    return f"{name}, {row['benchmark']}" if several else name


def _range(counts: Any) -> str:
    return f"{counts.min():,}" if counts.nunique() == 1 else f"{counts.min():,} to {counts.max():,}"
