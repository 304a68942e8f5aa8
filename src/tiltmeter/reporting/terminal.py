"""Tables for the terminal: every measure with its neutral point, interval and n, in as many columns as there is room for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import Statement, number_text, p_cell, range_text, signed_text
from tiltmeter.families.kit.story import Sheet, decimals_of, in_order, value_text
from tiltmeter.reporting.columns import CLUSTERS, NO_NEED, Column, Grid
from tiltmeter.reporting.narratives import overall_rows, sheets_of, stories_of
from tiltmeter.stats.estimates import details_of, is_estimates
from tiltmeter.stats.intervals import FEWEST

if TYPE_CHECKING:
    import pandas as pd

BRIEF = 4
"""Rows of a model that a short table shows."""
MISSING_SCORES = "{scorer} could not score {missing:,} of {total:,} items, which n leaves out: {why}."
TOO_FEW = (
    "{benchmark} has too few items for any conclusion (n = {n}): most intervals need at least {least} independent items."
)
COUNTS = {"n": "n", "missing": "n_missing", "ties": "n_ties"}


def overview(estimates: pd.DataFrame, by: Sequence[str] = (), *, whole: bool = False) -> Iterator[Grid]:
    """The tables of a run: overall estimates and those by the columns in `by`, the most important rows; or all."""
    heads = _heads(estimates)
    for sheet in sheets_of(estimates):
        if len(sheet.rows) and (sheet.overall or whole or any(_is_by(sheet, column) for column in by)):
            shown = sheet.rows if whole or not sheet.overall else _brief(sheet, heads)
            yield from _pivots(sheet, shown, whole) if sheet.pivot else (_estimate_rows(sheet, shown),)


def left_out(estimates: pd.DataFrame) -> int:
    """How many overall estimates the short tables do not show, at any width."""
    heads, sheets = _heads(estimates), [sheet for sheet in sheets_of(estimates) if sheet.overall]
    return sum(len(sheet.rows) - len(_brief(sheet, heads)) for sheet in sheets)


def _heads(estimates: pd.DataFrame) -> dict[tuple[str, str], str]:
    """The scorer of each headline, by model and benchmark."""
    stories = [story for story in stories_of(estimates) if story.head is not None]
    return {(story.model, story.benchmark): str(story.head["scorer"]) for story in stories}


def _is_by(sheet: Sheet, column: str) -> bool:
    """Return True if a table is by a column, alone or crossed with another."""
    return column in sheet.by.split(" × ")


def _brief(sheet: Sheet, heads: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """The first rows of every model, the headline's before all; of a list of tests, those with the smallest p."""
    kept: list[Any] = []
    for model, rows in sheet.rows.groupby("model", sort=False):
        if sheet.pivot:
            head = heads.get((str(model), sheet.benchmark), "")
            labels = in_order(list(dict.fromkeys(rows[sheet.rows_are])), [head])[:BRIEF]
            kept += [at for label in labels for at in rows.index[rows[sheet.rows_are] == label]]
        else:
            p = rows["p_holm"].where(rows["p_holm"].notna(), rows["p"])
            first = set(p.sort_values(kind="stable").index[:BRIEF])
            kept += [at for at in rows.index if at in first]
    return sheet.rows.loc[kept]


def _title(sheet: Sheet) -> str:
    more = sheet.title.removeprefix(sheet.benchmark).removeprefix(" · ")
    return f"{sheet.benchmark}: {more}" if more else sheet.benchmark


def _pivots(sheet: Sheet, rows: pd.DataFrame, whole: bool) -> Iterator[Grid]:
    """A row per model and scorer (or group), a column per measure. Measures of different rows have tables of their own."""
    alike: dict[frozenset[str], list[str]] = {}
    for measure in sheet.rows["measure"].drop_duplicates():
        labels = frozenset(sheet.rows[sheet.rows["measure"] == measure][sheet.rows_are])
        alike.setdefault(labels, []).append(str(measure))
    parts = [(measures, rows[rows["measure"].isin(measures)]) for measures in alike.values()]
    parts = [(measures, part) for measures, part in parts if len(part)]
    for measures, part in parts:
        named = replace(sheet, title=f"{sheet.title} ({measures[0]})") if len(parts) > 1 else sheet
        yield _pivot(named, part, measures, whole)


def _pivot(sheet: Sheet, rows: pd.DataFrame, measures: Sequence[str], whole: bool) -> Grid:
    order = {name: n for n, name in enumerate(dict.fromkeys(rows["model"]))}
    parts = sorted(rows.groupby(["model", sheet.rows_are], sort=False), key=lambda part: order[part[0][0]])
    names = [Column("model", [str(key[0]) for key, _ in parts])] if len(order) > 1 else []
    names.append(Column(sheet.rows_are if sheet.rows_are == "scorer" else sheet.by, [str(key[1]) for key, _ in parts]))
    values = []
    for number, measure in enumerate(measures):
        of = [part[part["measure"] == measure] for _, part in parts]
        cells = [value_text(part.iloc[0]) if len(part) else "" for part in of]
        values.append(Column(f"{measure}\n{neutral_text(measure)}".rstrip(), cells, "number", spare=float(number)))
    fewest = [part.loc[part["n"].idxmin()] for _, part in parts]
    title = _title(sheet) if whole or not sheet.overall or sheet.rows_are != "scorer" else sheet.benchmark
    title = title if len(order) > 1 else f"{next(iter(order))} on {title}"
    return Grid(title, names, [*values, *_counts(fewest)], all_values=whole)


def _counts(rows: Sequence[Any]) -> list[Column]:
    """n, and how many are missing or tied, where any are."""
    columns = []
    for spare, (head, name) in zip((0.0, 0.5, 20.0), COUNTS.items(), strict=True):
        zeros = head != "n" and not any(row[name] for row in rows)
        if zeros and head == "ties":
            continue
        columns.append(Column(head, [f"{row[name]:,}" for row in rows], "number", NO_NEED if zeros else spare))
    columns[1:1] = _clusters(rows)
    return columns


def _clusters(rows: Sequence[Any]) -> Iterator[Column]:
    """The number of independent clusters beside n, where intervals rest on them."""
    details = [details_of(row) for row in rows]
    for head, name in CLUSTERS.items():
        cells = [f"{int(one[name]):,}" if name in one else "" for one in details]
        if any(cell and cell != f"{row['n']:,}" for cell, row in zip(cells, rows, strict=True)):
            yield Column(head, cells, "number", 0.4)


def _estimate_rows(sheet: Sheet, rows: pd.DataFrame) -> Grid:
    """A row per estimate of one measure."""
    listed = [row for _, row in rows.iterrows()]
    names = [Column("model", [str(row["model"]) for row in listed])] if rows["model"].nunique() > 1 else []
    names.append(Column(sheet.by or "group", [str(row["group"]) for row in listed]))
    title = _title(sheet) if names[0].head == "model" else f"{rows['model'].iloc[0]} on {_title(sheet)}"
    return Grid(title, names, [*_numbers(listed), *_p_columns(listed)])


def long_tables(estimates: pd.DataFrame) -> Iterator[Grid]:
    """Every estimate in a row of its own, in a table per model and benchmark."""
    for (model, benchmark), part in estimates.groupby(["model", "benchmark"], sort=False):
        rows = [row for _, row in part.iterrows()]
        names = [Column(name, [str(row[name]) for row in rows]) for name in ("scorer", "measure")]
        groups = Column("group", ["all" if row["by"] == "all" else str(row["group"]) for row in rows])
        yield Grid(f"{model} on {benchmark}", [*names, groups], [*_numbers(rows), *_p_columns(rows)])


def _numbers(rows: Sequence[Any]) -> list[Column]:
    neutral = ["" if np.isnan(row["neutral"]) else f"{row['neutral']:g}" for row in rows]
    return [
        Column("value (interval)", [value_text(row) for row in rows], "number"),
        Column("neutral", neutral, "number", spare=10.0),
        *_counts(rows),
    ]


def comparisons(table: pd.DataFrame) -> Iterator[Grid]:
    """Differences between two models, in a table per model and benchmark."""
    for (model, baseline, benchmark), part in table.groupby(["model", "baseline", "benchmark"], sort=False):
        rows = [row for _, row in part.iterrows()]
        names = [Column(name, [str(row[name]) for row in rows]) for name in ("scorer", "measure", "group")]
        names = [column for column in names if column.head != "group" or set(column.cells) != {"all"}]
        yield Grid(f"{model} against {baseline} on {benchmark}", names, list(_differences(rows)))


def _differences(rows: Sequence[Any]) -> Iterator[Column]:
    places = [decimals_of(row["measure"], row["value"], row["baseline_value"]) for row in rows]
    numbered = list(zip(rows, places, strict=True))
    yield Column("difference (interval)", [_difference_text(row, n) for row, n in numbered], "number")
    yield Column("value", [number_text(row["value"], n) for row, n in numbered], "number", spare=2.0)
    yield Column("baseline", [number_text(row["baseline_value"], n) for row, n in numbered], "number", spare=3.0)
    if any(row.get("change", "") for row in rows):
        yield Column("from neutral", [str(row.get("change", "")) for row in rows], spare=0.5)
    yield Column("n", [f"{row['n']:,}" for row in rows], "number")
    yield from _clusters(rows)
    yield Column("p", [p_cell(row["p"]) for row in rows], "number", spare=1.0)
    yield Column("p (Holm)", [p_cell(row["p_holm"]) for row in rows], "number")
    yield Column("tests", [f"{row['n_tests']:,}" if row["n_tests"] else "" for row in rows], "number", spare=1.5)


def _difference_text(row: Any, places: int) -> str:
    interval = range_text(row["low"], row["high"], places, signed=True)
    return " ".join(filter(None, [signed_text(row["difference"], places), interval]))


REASONS = {
    "no unmodified tokens": "the two sentences share no token",
    "no modified tokens": "the two sentences have the same tokens",
}
"""Stored reasons, which name tokens, as readers understand them."""


def missing_text(estimates: pd.DataFrame) -> str:
    """The scores that are missing from the overall rows, values that are undefined, and benchmarks of too few items."""
    rows = overall_rows(estimates)
    rows = rows[rows["by"] == "all"]
    return " ".join([*_missing_scores(rows), *_undefined(rows), *_too_few(rows)])


def _missing_scores(overall: pd.DataFrame) -> Iterator[Statement]:
    lacking = overall[overall["n_missing"] > 0].drop_duplicates(["model", "benchmark", "scorer"])
    for scorer, rows in lacking.groupby("scorer", sort=False):
        reasons: Counter[str] = Counter()
        for text in filter(None, rows["missing"]):
            reasons.update(json.loads(text))
        if reasons:
            why = ", ".join(
                f"{REASONS.get(why, why)}{f' ({n:,})' if len(reasons) > 1 else ''}" for why, n in reasons.items()
            )
            missing = int(rows["n_missing"].sum())
            total = missing + int(rows["n"].sum())
            yield Statement(MISSING_SCORES, "missing-scores", scorer=scorer, missing=missing, total=total, why=why)


def _undefined(overall: pd.DataFrame) -> Iterator[Statement]:
    rows = overall[overall["value"].isna() & (overall["n"] > 0)]
    for note, some in rows.groupby("note", sort=False):
        measures = list(dict.fromkeys(some["measure"]))
        yield Statement(
            "Without a value: {listed} ({why}).", "undefined-values", measures=measures, listed=", ".join(measures),
            why=note,
        )  # fmt: skip


def _too_few(overall: pd.DataFrame) -> Iterator[Statement]:
    most = overall.groupby("benchmark", sort=False)["n"].max()
    for benchmark, n in most[most < FEWEST].items():
        yield Statement(TOO_FEW, "too-few-items", benchmark=benchmark, n=int(n), least=FEWEST)


def _p_columns(rows: Sequence[Any]) -> Iterator[Column]:
    """Yield p where some rows are not corrected, and p after correction where some are."""
    if any(np.isnan(row["p_holm"]) and not np.isnan(row["p"]) for row in rows):
        yield Column("p", [p_cell(row["p"]) for row in rows], "number")
    if not all(np.isnan(row["p_holm"]) for row in rows):
        yield Column("p (Holm)", [p_cell(row["p_holm"]) for row in rows], "number")


def neutral_text(measure: str) -> str:
    """The neutral or the ideal value of a measure; empty if it has neither."""
    if measure not in catalog.names("measures"):
        return ""
    entry = catalog.find("measures", measure)
    neutral, ideal = entry.spec.neutral, entry.spec.ideal
    if neutral is not None:
        return f"neutral {neutral:g}"
    return "" if ideal is None else f"ideal {ideal:g}"


def plain_table(frame: pd.DataFrame, title: str, most: int | None = 40) -> Grid:
    """The first rows of any tidy table, or all; what is the same in all rows is in the heading, an interval in its value."""
    shown = frame if most is None else frame.head(most)
    more = f" (first {most} of {len(frame):,} rows)" if len(shown) < len(frame) else ""
    heads = [f"{name} {shown[name].iloc[0]}" for name in shown if _is_name(shown, name) and _is_constant(shown, name)]
    rest = shown.drop(columns=[name for name in shown if _is_name(shown, name) and _is_constant(shown, name)])
    names = [Column(str(name), [cell_text(value) for value in rest[name]]) for name in rest if _is_name(rest, name)]
    return Grid(f"{', '.join([title, *heads])}{more}", names, list(_values(rest)), all_values=True)


def as_grids(table: pd.DataFrame, title: str) -> Iterator[Grid]:
    """A table of estimates, of differences, or of a study."""
    if is_estimates(table):
        yield from long_tables(table)
    elif {"baseline_value", "difference"} <= set(table.columns):
        yield from comparisons(table)
    else:
        yield plain_table(table, title, None)


def listed(rows: Sequence[Mapping[str, str]]) -> Grid:
    """Table of entries, with a line about each."""
    first, *others, last = (Column(name, [row[name] for row in rows]) for name in rows[0])
    return Grid("", [first], [*(replace(column, spare=1.0) for column in others), replace(last, kind="text")])


def _is_name(frame: pd.DataFrame, name: Any) -> bool:
    return bool(frame[name].dtype.kind in "OUTb")


def _is_constant(frame: pd.DataFrame, name: Any) -> bool:
    return len(frame) > 1 and frame[name].nunique(dropna=False) == 1


def _values(frame: pd.DataFrame) -> Iterator[Column]:
    """The columns of numbers; low and high are written into the column before them."""
    names = [str(name) for name in frame]
    holder = names[names.index("low") - 1] if {"low", "high"} <= set(names) and names.index("low") else ""
    for name in names:
        if _is_name(frame, name) or (holder and name in ("low", "high")):
            continue
        said = p_cell if name in ("p", "p_holm") else cell_text
        cells = [said(value) for value in frame[name].tolist()]
        if name == holder:
            edges = zip(frame["low"].tolist(), frame["high"].tolist(), strict=True)
            cells = [f"{cell} [{cell_text(low)}, {cell_text(high)}]" for cell, (low, high) in zip(cells, edges, strict=True)]
        yield Column(f"{name} (interval)" if name == holder else name, cells, "number")


def cell_text(value: Any) -> str:
    """A cell as text."""
    if isinstance(value, float) and np.isnan(value):
        return "missing"
    if isinstance(value, float):
        return number_text(value, 3 if abs(value) < 10 else 2)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
