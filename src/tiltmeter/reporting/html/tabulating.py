"""Estimates as tables with bars: one per measure, overall and taken apart. Whatever a probe measured finds a place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter import catalog
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.html.drawing import Scale, axis, bar, tone
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.words import headline

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("bias_score", "ss", "lms", "icat", "kls", "jss", "jss_liu")
SCORERS = (
    "cps", "aul", "aula", "sss", "pll", "all_masked", "causal", "causal_mean", "stereoset_masked", "stereoset_causal",
)  # fmt: skip
LEANING = ("bias_score", "ss")
"""Measures that say which way: above the neutral point towards the stereotypes."""
PERCENT = ("bias_score", "ss", "lms", "icat", "kls", "jss", "jss_liu")
SLOTS = "slots"
MOST_NAMED = 4


@dataclass(frozen=True)
class Line:
    """One estimate in words, with its bar."""

    model: str
    scorer: str
    group: str
    value: str
    interval: str
    n: str
    missing: str
    ties: str
    p: str
    bar: Markup
    tone: str
    note: str


@dataclass(frozen=True)
class Block:
    """A table of lines on one axis. `where` finds its rows again among the embedded estimates, for download."""

    title: str
    about: str
    neutral: str
    lines: Sequence[Line]
    axis: Markup
    where: dict[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ("scorer", "model")
    notes: Sequence[str] = ()

    @property
    def where_json(self) -> str:
        """For the button that downloads."""
        return json.dumps(self.where, ensure_ascii=False)


def overall(material: Material, benchmark: str) -> list[Block]:
    """The scores of pairs of one benchmark, a table per measure."""
    rows = pair_rows(material)
    rows = rows[(rows["benchmark"] == benchmark) & (rows["by"] == "all")]
    first = LEANING if not benchmark.startswith("stereoset") else LEANING[::-1]
    names = in_order(dict.fromkeys(rows["measure"]), (*first, *MEASURES))
    return [_block(rows[rows["measure"] == name], name, {"benchmark": benchmark, "by": "all"}) for name in names]


def by_group(material: Material, benchmark: str) -> Iterator[tuple[str, Block]]:
    """The headline measure of every model, taken apart by bias type, direction, or what else was asked for; its first
    measure where nothing was computed that says which way.
    """
    rows = pair_rows(material)
    rows = rows[rows["benchmark"] == benchmark]
    heads = [headline(ours) for _, ours in rows.groupby("model", sort=False)]
    firsts = [head for head in heads if head is not None] or [ours.iloc[0] for _, ours in rows.groupby("model", sort=False)]
    chosen = {(head["model"], head["scorer"], head["measure"]) for head in firsts}
    keys = list(zip(rows["model"], rows["scorer"], rows["measure"], strict=True))
    ours = rows[[key in chosen for key in keys]]
    for by in dict.fromkeys(ours["by"]):
        part = ours[ours["by"] == by]
        if by != "all" and len(part):
            measure = str(part["measure"].iloc[0])
            yield str(by), _block(_grouped(part), measure, {"benchmark": benchmark, "by": by}, ("group", "model"))


def _grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """Groups by their mean over models, the highest first; a difference between groups comes last."""
    mean = rows.groupby("group")["value"].transform("mean").fillna(-math.inf)
    return rows.assign(_last=rows["group"] == "|difference|", _mean=mean).sort_values(
        ["_last", "_mean", "group"], ascending=[True, False, True], kind="stable"
    )


def of_slots(material: Material, benchmark: str) -> list[Block]:
    """What fills the slots: a table per measure, groups of terms and gaps between them."""
    rows = material.estimates[(material.estimates["scorer"] == SLOTS) & (material.estimates["benchmark"] == benchmark)]
    rows = rows[rows["by"].isin(["group", "gap"])]
    first = ("lean", "mnt_gap", "mps_gap", "coverage", "mps", "mnt")
    names = in_order(dict.fromkeys(rows["measure"]), first)
    return [
        _block(rows[rows["measure"] == name], name, {"benchmark": benchmark, "scorer": SLOTS}, ("group", "model"))
        for name in names
    ]


def of_others(material: Material) -> list[Block]:
    """Estimates that are neither of pairs nor of slots: shown as they are."""
    known = {*pair_scorers(material), SLOTS}
    rows = material.estimates[~material.estimates["scorer"].isin(known)]
    blocks = []
    for (benchmark, scorer, measure), ours in rows.groupby(["benchmark", "scorer", "measure"], sort=False, dropna=False):
        where = {"benchmark": benchmark, "scorer": scorer}
        block = _block(ours, str(measure), where, ("group", "model"))
        blocks.append(replace(block, title=f"{benchmark} · {scorer} · {measure}"))
    return blocks


def pair_scorers(material: Material) -> list[str]:
    """The scorers of sentences in these runs."""
    return [str(name) for name in material.scores.frame["scorer"].unique()]


def pair_rows(material: Material) -> pd.DataFrame:
    """The estimates of scores of pairs."""
    return material.estimates[material.estimates["scorer"].isin(pair_scorers(material))]


def in_order(names: Any, first: Sequence[str]) -> list[str]:
    """Names in a given order, the others behind."""
    return [name for name in dict.fromkeys(first) if name in names] + [name for name in names if name not in first]


def _block(rows: pd.DataFrame, measure: str, where: dict[str, Any], columns: Sequence[str] = ("scorer", "model")) -> Block:
    if columns[0] == "scorer":
        place = {name: n for n, name in enumerate(in_order(sorted(set(rows["scorer"])), SCORERS))}
        rows = rows.iloc[np.argsort(rows["scorer"].map(place).to_numpy(), kind="stable")]
    else:  # what is compared stands together
        rows = rows.iloc[np.argsort(rows["group"].factorize()[0], kind="stable")]
    scale = scale_of(rows, measure)
    lines = [line(row, scale, leaning=measure in LEANING) for _, row in rows.iterrows()]
    where = where | {"measure": measure}
    return Block(
        measure, about(measure), neutral_text(measure, scale), lines, axis(scale), where, columns, _notes(lines, columns)
    )


def _notes(lines: Sequence[Line], columns: Sequence[str]) -> list[str]:
    """Each remark once, with the rows that it is about."""
    about_rows: dict[str, list[str]] = {}
    for one in lines:
        if one.note:
            about_rows.setdefault(one.note, []).append(", ".join(getattr(one, name) for name in columns))
    return [
        f"{'; '.join(rows[:MOST_NAMED])}{f' and {len(rows) - MOST_NAMED} more' if len(rows) > MOST_NAMED else ''}: {note}."
        for note, rows in about_rows.items()
    ]


def scale_of(rows: pd.DataFrame, measure: str) -> Scale:
    """One axis for all rows; a gap of groups has a neutral point of its own and is left out of it."""
    own = rows[rows["group"] != "|difference|"] if (rows["group"] != "|difference|").any() else rows
    neutral = own["neutral"].dropna()
    values = own[["value", "low", "high"]].to_numpy(dtype=np.float64).ravel()
    bounds = (0.0, 100.0) if measure in PERCENT else None
    return Scale.around(values, float(neutral.iloc[0]) if len(neutral) else math.nan, bounds)


def line(row: Any, scale: Scale, *, leaning: bool) -> Line:
    """An estimate in words."""
    gap = row["group"] == "|difference|"
    colour = "plain" if gap else tone(row, leaning)
    p = row["p"] if not np.isfinite(row["p_holm"]) else row["p_holm"]
    interval = f"{scale.text(row['low'])} to {scale.text(row['high'])}" if np.isfinite(row["low"]) else "–"
    note = row["note"] if isinstance(row["note"], str) else ""
    return Line(
        model=str(row["model"]),
        scorer=str(row["scorer"]),
        group="all" if row["by"] == "all" else str(row["group"]),
        value=scale.text(row["value"]),
        interval=interval,
        **{name: _count(row[column]) for name, column in (("n", "n"), ("missing", "n_missing"), ("ties", "n_ties"))},
        p=p_cell(p),
        bar=Markup("") if gap else bar(row, scale, colour),
        tone=colour,
        note=note,
    )


def _count(value: Any) -> str:
    return f"{int(value):,}" if np.isfinite(value) else "–"


def p_cell(p: float) -> str:
    """A p-value in a table."""
    return "–" if not np.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def about(measure: str) -> str:
    """What a measure is, in a line; nothing for one that this version does not know."""
    try:
        return without_name(catalog.find("measures", measure).summary, measure)
    except TiltmeterError:
        return ""


def without_name(summary: str, name: str) -> str:
    """A summary that starts with the name which already stands before it.

    >>> without_name("Bias score: the percentage of pairs", "bias_score")
    'The percentage of pairs'
    """
    first, _, rest = summary.partition(": ")
    same = first.lower().replace(" ", "_").replace("-", "_") == name.replace("-", "_")
    return rest[:1].upper() + rest[1:] if same and rest else summary


def neutral_text(measure: str, scale: Scale) -> str:
    """Where no lean would be."""
    if math.isfinite(scale.neutral):
        return f"neutral {scale.neutral:g}"
    return "ideal 100" if measure in ("lms", "icat") else "no neutral point"
