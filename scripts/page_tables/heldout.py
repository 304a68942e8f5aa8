"""Perplexities of hateful and other lines."""

from __future__ import annotations

from collections.abc import Iterator

from page_tables.kit import RESEARCH, interval, read_csv, table

HEAD = ("model", "`perplexity_auc`", "p", "`safety_score`", "lowest group", "highest group", "groups that differ from 0.5")


def toxigen() -> Iterator[str]:
    """Both measures of each model over all lines, and the groups with the lowest and highest value."""
    rows = read_csv(RESEARCH / "page-tables" / "toxigen.csv.gz")
    yield from table(
        HEAD, "llllllr", (row([one for one in rows if one["model"] == model]) for model in ("plumb-mlm", "plumb-clm"))
    )


def row(own: list[dict[str, str]]) -> tuple[str, ...]:
    """Write the row of one model."""
    whole = {one["measure"]: one for one in own if one["by"] == "all"}
    groups = sorted((one for one in own if one["by"] == "group" and one["measure"] == "perplexity_auc"), key=value)
    significant = sum(float(one["p_holm"]) < 0.05 for one in groups)
    p = float(whole["perplexity_auc"]["p"])
    ends = (f"{one['group']} {interval(one, 3)}" for one in (groups[0], groups[-1]))
    numbers = [interval(whole[name], 3) for name in ("perplexity_auc", "safety_score")]
    shown = "≤ 0.001" if p <= 0.001 else f"{p:.3f}"
    return own[0]["model"], numbers[0], shown, numbers[1], *ends, f"{significant} of {len(groups)}"


def value(row: dict[str, str]) -> float:
    """Return the value of a row."""
    return float(row["value"])
