"""Comparison of models: paired differences of the measures that give a direction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter.display import MISSING, p_cell, signed_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.comparison_text import too_close
from tiltmeter.reporting.html.bars import Scale, axis, bar, tone
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.measures import has_neutral, is_one_sided, leans, remarks
from tiltmeter.runs.compare import compare

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Difference:
    """One row of the table; its label is the scorer, or the group that it is about."""

    label: str
    model: str
    value: str
    baseline: str
    difference: str
    interval: str
    n: str
    p: str
    p_holm: str
    tests: str
    bar: Markup
    note: str

    @property
    def is_known(self) -> bool:
        """Return True if the difference is not missing."""
        return self.difference != MISSING


@dataclass(frozen=True)
class Differences:
    """One measure on one benchmark."""

    benchmark: str
    measure: str
    rows_are: str
    rows: tuple[Difference, ...]
    axis: Markup
    meaning: str
    notes: tuple[str, ...]
    unfolded: bool = False

    @property
    def where_json(self) -> str:
        """Conditions for the download button."""
        return json.dumps({"benchmark": self.benchmark, "measure": self.measure}, ensure_ascii=False)


@dataclass(frozen=True)
class Comparison:
    """The comparison of every other model with the first; or the reason why there is none."""

    baseline: str
    tables: tuple[Differences, ...]
    warnings: tuple[str, ...]
    refusal: str = ""
    alone: tuple[str, ...] = ()
    """Benchmarks with several models of which none shares a scorer with the first."""


def compared(material: Material) -> tuple[pd.DataFrame | None, Comparison]:
    """The comparison of all models by the measures that give a direction."""
    measures = _measures(material)
    try:
        table = compare(material.answers, material.baseline, measures, **vars(material.settings))
    except TiltmeterError as refusal:
        return None, Comparison("", (), (), str(refusal).replace("`", ""))
    warnings = tuple(too_close(table, material.settings.confidence))
    baseline = str(table["baseline"].iloc[0])
    return table, Comparison(baseline, _first_unfolded(_tables(table)), warnings, alone=tuple(_alone(material, table)))


def _alone(material: Material, table: pd.DataFrame) -> Iterator[str]:
    asked = material.estimates.groupby("benchmark", sort=False)["model"].nunique()
    for benchmark in asked[asked > 1].index:
        if benchmark not in set(table["benchmark"]):
            yield str(benchmark)


def _first_unfolded(tables: Iterator[Differences]) -> tuple[Differences, ...]:
    """The tables; the first one that has a difference is unfolded."""
    listed = list(tables)
    number = next((n for n, table in enumerate(listed) if any(row.is_known for row in table.rows)), 0)
    return tuple(replace(table, unfolded=n == number) for n, table in enumerate(listed))


def _measures(material: Material) -> list[str]:
    """For each family the measures that give a direction, else those with a neutral point, else all it has."""
    chosen: list[str] = []
    for _, rows in material.estimates.groupby("family", sort=False):
        several = rows.groupby(["benchmark", "scorer", "measure"])["model"].nunique() > 1
        there = [name for name in dict.fromkeys(rows["measure"]) if several.loc[:, :, name].any()]
        neutral = [name for name in there if has_neutral(name)]
        chosen += [name for name in there if leans(name)] or neutral or there
    return chosen or sorted(set(material.estimates["measure"]))


def _tables(table: pd.DataFrame) -> Iterator[Differences]:
    for (benchmark, measure), rows in table.groupby(["benchmark", "measure"], sort=False):
        scale = Scale.around(rows[["difference", "low", "high"]].to_numpy(dtype=np.float64).ravel(), 0.0)
        shown = tuple(_row(row, scale) for _, row in rows.iterrows())
        rows_are = "Scorer" if (rows["by"] == "all").all() else "Group"
        notes = tuple(remarks((row.note, f"{row.label}, {row.model}") for row in shown))
        yield Differences(str(benchmark), str(measure), rows_are, shown, axis(scale), _meaning(str(measure)), notes)


MORE_STEREOTYPES = "Right of zero: the model leans more towards the stereotypes than the baseline."
HIGHER = "Right of zero: a higher value than the baseline's."
NO_DIRECTION = "This measure does not give the direction of a lean."


def _meaning(measure: str) -> str:
    """Explain values right of zero. A measure whose neutral point is an end of its range gives no direction."""
    if leans(measure):
        return MORE_STEREOTYPES
    if is_one_sided(measure) or not has_neutral(measure):
        return f"{HIGHER} {NO_DIRECTION}"
    return HIGHER


def _row(row: Any, scale: Scale) -> Difference:
    drawn = {"value": row["difference"], "low": row["low"], "high": row["high"], "neutral": 0.0}
    drawn |= {name: row[name] for name in ("p", "p_holm")}
    colour = tone(drawn, leaning=leans(row["measure"]))
    several = f"{row['group']}, {row['scorer']}" if row["by"] != "all" and ":" in str(row["scorer"]) else str(row["group"])
    return Difference(
        label=str(row["scorer"]) if row["by"] == "all" else several,
        model=str(row["model"]),
        value=scale.text(row["value"]),
        baseline=scale.text(row["baseline_value"]),
        difference=signed_text(row["difference"], scale.decimals_for(row["low"], row["high"])),
        interval=_interval(row, scale),
        n=f"{row['n']:,}",
        p=p_cell(row["p"], "–"),
        p_holm=p_cell(row["p_holm"], "–"),
        tests=f"{row['n_tests']:,}" if row["n_tests"] else "–",
        bar=bar(drawn, scale, colour),
        note=row["note"] if isinstance(row["note"], str) else "",
    )


def _interval(row: Any, scale: Scale) -> str:
    if not np.isfinite(row["low"]):
        return "–"
    places = scale.decimals_for(row["low"], row["high"])
    return " to ".join(signed_text(row[name], places) for name in ("low", "high"))
