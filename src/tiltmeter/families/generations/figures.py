"""The figure of generations: what a judge says of the texts about each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.errors import TiltmeterError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {"mean_score": "mean score", "negative_share": "share of negative texts"}


def generations(table: pd.DataFrame) -> Any:
    """What judges say of texts about each group: mean score and share of negative texts, with intervals."""
    rows = table[(table["family"] == "generations") & (table["by"] == "group") & table["value"].notna()]
    shown = [measure for measure in SHOWN if measure in set(rows["measure"])]
    if not shown:
        raise TiltmeterError("These runs have no judged texts. Run bold or plumb-prompts first to draw this figure.")
    scorer = rows["scorer"].iloc[0]
    rows = rows[rows["scorer"] == scorer]
    groups, models = list(dict.fromkeys(rows["group"])), list(dict.fromkeys(rows["model"]))
    figure, axes = figures.grid(len(shown), each=1, height=0.7 + 0.13 * len(groups))
    for axis, measure in zip(axes, shown, strict=True):
        for number, model in enumerate(models):
            ours = rows[(rows["measure"] == measure) & (rows["model"] == model)]
            at = [groups.index(group) + figures.beside(number, len(models)) for group in ours["group"]]
            label = figures.short(str(model), 24)
            axis.errorbar(ours["value"], at, xerr=figures.reach(ours), label=label, **figures.dot(number))
        figures.name_rows(axis, groups)
        figures.label_x(axis, f"{SHOWN[measure]}, {scorer}")
    figures.legend_below(figure, axes[0], 3)
    return figure
