"""The figure of slots: mean probability and mean normalised rank of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.errors import RunError
from tiltmeter.families.slots.estimate import ranked_among_candidates

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {"mps": "mean probability (mps)", "mnt": "mean normalised rank (mnt)"}


def slots(table: pd.DataFrame) -> Any:
    """Draw what fills a mask: mean probability and mean normalised rank of each group, with intervals."""
    rows = table[(table["family"] == "slots") & (table["by"] == "group") & table["value"].notna()]
    shown = [measure for measure in SHOWN if measure in set(rows["measure"])]
    if not shown:
        raise RunError(
            "These runs have no results about masked words. Run plumb-slots or sexism first to draw this figure.",
            code="missing-answers", family="slots",
        )  # fmt: skip
    several = rows["benchmark"].nunique() > 1
    rows = rows.assign(row=[_row(row, several) for _, row in rows.iterrows()])
    names, groups = list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["group"]))
    figure, axes = figures.grid(len(shown), each=1, height=0.6 + 0.17 * len(names))
    for axis, measure in zip(axes, shown, strict=True):
        for number, group in enumerate(groups):
            of_group = rows[(rows["measure"] == measure) & (rows["group"] == group)]
            at = [names.index(row) for row in of_group["row"]]
            axis.errorbar(of_group["value"], at, xerr=figures.reach(of_group), label=group, **figures.dot(number))
        figures.name_rows(axis, names)
        counts = rows[rows["measure"] == measure]["n"]
        figures.label_x(axis, f"{SHOWN[measure]}, n = {_range(counts)} matches")
        axis.set_xlim(left=0, right=axis.get_xlim()[1] + 0.01)
    if ranked_among_candidates(rows):
        figures.head(axes[0], "causal models: among the listed terms only")
    figures.legend_below(figure, axes[0], 4)
    return figure


def _row(row: Any, several: bool) -> str:
    place = f"{figures.short(row['model'], 20)}, {row['group']}"
    return f"{place}, {row['benchmark']}" if several else place


def _range(counts: Any) -> str:
    return f"{counts.min():,}" if counts.nunique() == 1 else f"{counts.min():,} to {counts.max():,}"
