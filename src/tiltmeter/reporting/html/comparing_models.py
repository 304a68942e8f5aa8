"""Models side by side: the paired differences of what says which way a model leans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter.comparing import compare
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.html.drawing import Scale, axis, bar, tone
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.tabulating import LEANING, MEASURES, SCORERS, in_order, p_cell, pair_rows
from tiltmeter.reporting.words import too_close

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Difference:
    """One row of the table."""

    scorer: str
    model: str
    value: str
    baseline: str
    difference: str
    interval: str
    n: str
    p: str
    bar: Markup


@dataclass(frozen=True)
class Differences:
    """One measure on one benchmark."""

    benchmark: str
    measure: str
    rows: tuple[Difference, ...]
    axis: Markup

    @property
    def where_json(self) -> str:
        """For the button that downloads."""
        return json.dumps({"benchmark": self.benchmark, "measure": self.measure}, ensure_ascii=False)


@dataclass(frozen=True)
class Comparison:
    """What can be said about every other model against the first; or why nothing can."""

    baseline: str
    tables: tuple[Differences, ...]
    warnings: tuple[str, ...]
    refusal: str = ""
    leaning: bool = True
    """Whether a difference says which way a model leans further."""


def compared(material: Material) -> tuple[pd.DataFrame | None, Comparison]:
    """The measures that say which way, overall, for every score that two models share."""
    try:
        table = compare(material.scores, measures=_measures(material), **vars(material.settings))
    except TiltmeterError as refusal:
        return None, Comparison("", (), (), str(refusal).replace("`", ""))
    warnings = tuple(too_close(table, material.settings.confidence))
    leaning = bool(table["measure"].isin(LEANING).all())
    return table, Comparison(str(table["baseline"].iloc[0]), tuple(_tables(table)), warnings, leaning=leaning)


def _tables(table: pd.DataFrame) -> Iterator[Differences]:
    scale = Scale.around(table[["difference", "low", "high"]].to_numpy(dtype=np.float64).ravel(), 0.0)
    for (benchmark, measure), rows in table.groupby(["benchmark", "measure"], sort=False):
        shown = tuple(_row(row, scale) for _, row in _in_order(rows).iterrows())
        yield Differences(str(benchmark), str(measure), shown, axis(scale))


def _measures(material: Material) -> list[str]:
    """Those that say which way; a run of others is compared by what it has."""
    there = set(pair_rows(material)["measure"])
    return [name for name in LEANING if name in there] or in_order(sorted(there), MEASURES)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    place = {name: n for n, name in enumerate(in_order(sorted(set(table["scorer"])), SCORERS))}
    return table.iloc[np.argsort(table["scorer"].map(place).to_numpy(), kind="stable")]


def _row(row: Any, scale: Scale) -> Difference:
    drawn = {"value": row["difference"], "low": row["low"], "high": row["high"], "neutral": 0.0}
    drawn |= {name: row[name] for name in ("p", "p_holm")}
    colour = tone(drawn, leaning=row["measure"] in LEANING)
    return Difference(
        **{name: str(row[name]) for name in ("scorer", "model")},
        value=_number(row["value"]),
        baseline=_number(row["baseline_value"]),
        difference=_number(row["difference"], "+"),
        interval=f"{_number(row['low'], '+')} to {_number(row['high'], '+')}" if np.isfinite(row["low"]) else "–",
        n=f"{row['n']:,}",
        p=p_cell(row["p"]),
        bar=bar(drawn, scale, colour),
    )


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.1f}".replace("-", "−") if np.isfinite(value) else "missing"
