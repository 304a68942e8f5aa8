"""Figures of the gaps between groups: violins with every sentence a point (Doughman et al., 2023, Figures 2 and 3)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tiltmeter import figures
from tiltmeter.families.kit.debiasing import Draw
from tiltmeter.families.slots.debiasing.tables import five_numbers


def gap_figures(gaps: Any, table: Any) -> dict[str, Draw]:
    """Figures 2 and 3 for each benchmark and pair of groups; without gaps, the two measures."""
    if not len(gaps):
        return {"mps_and_mnt": partial(_draw_measures, table)}
    several = gaps[["benchmark", "gap"]].drop_duplicates()
    drawn: dict[str, Draw] = {}
    for benchmark, gap in several.itertuples(index=False):
        part = gaps[(gaps["benchmark"] == benchmark) & (gaps["gap"] == gap)]
        suffix = f"-{benchmark}-{gap.replace(' − ', '-')}" if len(several) > 1 else ""
        drawn[f"mps_gaps{suffix}"] = partial(_draw_gaps, part, ("mps_gap",))
        drawn[f"mps_and_mnt_gaps{suffix}"] = partial(_draw_gaps, part, ("mps_gap", "mnt_gap"))
    return drawn


def _draw_gaps(gaps: Any, columns: tuple[str, ...]) -> Any:
    """A violin for each model and kind of gap, every sentence a point."""
    models = list(dict.fromkeys(gaps["model"]))
    names = {"mps_gap": "probability (MPS gap)", "mnt_gap": "normalised rank (MNT gap)"}
    figure, axes = figures.canvas(height=0.75 + 0.5 * len(models) * len(columns) ** 0.5)
    axis = axes[0, 0]
    for row, model in enumerate(models):
        of_model = gaps[gaps["model"] == model]
        for number, column in enumerate(columns):
            at = row + figures.beside(number, len(columns), 0.46)
            label = names[column] if row == 0 and len(columns) > 1 else None
            figures.violin(axis, of_model[column], at, number, half=0.4 / len(columns), label=label)
            _whiskers(axis, five_numbers(of_model[column].to_numpy(dtype=float)), at, 0.12 / len(columns))
    figures.neutral_line(axis, 0.0)
    counts = gaps.groupby("model", sort=False).size()
    figures.name_rows(axis, [f"{figures.short(model, 22)}, n = {counts[model]:,}" for model in models])
    first, second = gaps["gap"].iloc[0].split(" − ")
    what = names[columns[0]] if len(columns) == 1 else "gap"
    figures.label_x(axis, f"{what} of each sentence, {first}\u00a0−\u00a0{second}", 38)
    figures.head(axis, str(gaps["benchmark"].iloc[0]))
    if len(columns) > 1:
        figures.legend_below(figure, axis, 2)
    return figure


def _whiskers(axis: Any, box: dict[str, float], at: float, half: float) -> None:
    """Whiskers from the quartiles to the fences, as the paper draws them; the table gap_spread has the numbers."""
    for end, quartile in (("lower_fence", "q1"), ("upper_fence", "q3")):
        axis.plot([box[end], box[quartile]], [at, at], color="black", linewidth=0.5)
        axis.plot([box[end], box[end]], [at - half, at + half], color="black", linewidth=0.5)


def _draw_measures(table: Any) -> Any:
    """MPS and MNT of each model and group, where no sentence has a match of two groups."""
    figure, axes = figures.canvas(height=0.6 + 0.3 * len(table))
    rows = [
        f"{figures.short(row['model'], 20)}, {row['group']}{'' if row['coverage'] else ' (no match)'}"
        for _, row in table.iterrows()
    ]
    for number, measure in enumerate(("mps", "mnt")):
        at = np.arange(len(table)) + figures.beside(number, 2)
        spread = [table[measure] - table[f"{measure}_low"], table[f"{measure}_high"] - table[measure]]
        axes[0, 0].errorbar(table[measure], at, xerr=spread, label=measure, **figures.dot(number))
    figures.name_rows(axes[0, 0], rows)
    figures.label_x(axes[0, 0], f"value, with interval; n = {table['n'].max():,}")
    figures.legend_below(figure, axes[0, 0], 2)
    return figure
