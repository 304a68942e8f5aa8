"""Write docs/research-calibration-2.md from page.md here: {{name}} is a table or a number of the stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from more_tables import tables
from tables import RESULTS, interval, number, p_value, results

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "research-calibration-2.md"
SLOT = re.compile(r"\{\{(.+?)\}\}")


def page() -> str:
    """Return the page with every table and number filled in."""
    counts = json.loads((RESULTS / "counts.json").read_text("utf-8"))
    made = tables()

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        return "\n".join(made[name]()) if name in made else _value(name, counts)

    return SLOT.sub(filled, (HERE / "page.md").read_text("utf-8"))


def _value(name: str, counts: dict[str, Any]) -> str:
    """Return one number: a count, or `table:base:domain:benchmark:scorer:measure` of a slope with its interval."""
    kind, *rest = name.split(":")
    if kind == "count":
        return f"{_count(rest, counts):,}" if isinstance(_count(rest, counts), int) else number(_count(rest, counts), 1)
    if kind == "rows":
        return f"{len(results(rest[0]))}"
    if kind == "relation":
        return _relation(rest)
    if kind == "detected":
        rows = results("primary")
        own = rows[(rows["corpus"] == rest[0]) & (rows["base"] == rest[1])]
        return f"{(own['verdict'] == rest[2]).sum()}" if rest[2] != "all" else f"{len(own)}"
    return _estimate(kind, rest)


def _count(rest: list[str], counts: dict[str, Any]) -> Any:
    value: Any = counts
    for part in rest:
        value = value[int(part)] if isinstance(value, list) else value.get(part, 0)
    return sum(value) if isinstance(value, list) else value


def _relation(rest: list[str]) -> str:
    """Word the correlation of two benchmarks: corpus, base, domain, intrinsic, extrinsic."""
    rows = results("relations")
    for column, value in zip(("corpus", "base", "domain", "intrinsic", "extrinsic"), rest, strict=True):
        rows = rows[rows[column] == value]
    row = rows.iloc[0]
    low, high = min(row["low"], row["fisher_low"]), max(row["high"], row["fisher_high"])
    return f"{number(row['r'], 2)} [{number(low, 2)}, {number(high, 2)}]"


def _estimate(table: str, rest: list[str]) -> str:
    """Find one row by its values, and word the column asked for: estimate, p, or both ends of ICC."""
    rows = results(table)
    rows = rows[rows["corpus"] == "frames"]
    what = rest[-1]
    for column, value in zip(("base", "domain", "benchmark", "scorer", "measure"), rest[:-1], strict=False):
        rows = rows[rows[column] == value] if value != "any" else rows
    row = rows.iloc[0]
    if what == "p":
        return p_value(row["p"])
    if what == "percent":
        return f"{100 * row['share_of_taught']:.1f} %"
    if what == "raw":
        return interval(row, "raw", 3, ("raw_low", "raw_high"))
    if what == "icc":
        return interval(row, "value", 2)
    return interval(row, places=int(what))


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    write_page()
