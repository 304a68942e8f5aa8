"""What the number of words of a group decides in CEAT."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from page_tables.kit import RESEARCH, read_csv, table

WORDS = {"ceat-labels": "1 (`ceat-labels`)", "ceat": "8 (`ceat`)"}
HEAD = ("words for each group", "τ² = 0", "median width of the interval", "variances over a domain with p < 0.05")


def ceat_words() -> Iterator[str]:
    """Between-draw variances, widths and significant variances over groups, by the number of words."""
    rows = read_csv(RESEARCH / "page-tables" / "ceat.csv.gz")
    yield from table(HEAD, "lrrr", (row(title, [one for one in rows if one["benchmark"] == name])
                                    for name, title in WORDS.items()))  # fmt: skip


def row(title: str, rows: list[dict[str, str]]) -> tuple[str, ...]:
    """Write the row of one number of words."""
    groups, domains = ([one for one in rows if one["measure"] == name] for name in ("ces", "group_variance"))
    known = [float(one["tau2"]) for one in groups if one["tau2"]]
    widths = [float(one["high"]) - float(one["low"]) for one in groups if one["low"]]
    significant = sum(float(one["p"]) < 0.05 for one in domains)
    counts = f"{sum(tau2 == 0 for tau2 in known)} of {len(known)}", f"{significant} of {len(domains)}"
    return title, counts[0], f"{median(widths):.2f}", counts[1]
