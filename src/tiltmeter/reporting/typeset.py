"""Tables for papers and pages: the same numbers as LaTeX (booktabs) and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.stats.estimates import ESTIMATE_COLUMNS
from tiltmeter.stats.significance import p_text

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {"latex": ".tex", "markdown": ".md"}
TO_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$",
    "Δ": r"$\Delta$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "…": r"\ldots{}", "|": r"\textbar{}",
}  # fmt: skip
PLACE = ("benchmark", "model", "scorer", "by", "group")


@dataclass(frozen=True)
class Page:
    """A table as text: caption, column heads, rows, and which columns are numbers."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[bool]


def typeset(table: pd.DataFrame, form: str = "latex", caption: str = "", digits: int | None = None) -> str:
    """A table as LaTeX or Markdown. Estimates: a row per model, scorer and group, a column per measure with its interval.

    Other tables (comparisons, studies) keep their columns; an interval is written into the cell of its value.
    """
    if form not in FORMATS:
        raise TiltmeterError(f"The format of a table must be {' or '.join(FORMATS)}, not '{form}'.")
    if not len(table):
        raise TiltmeterError("The table is empty, so there is nothing to write.")
    if set(ESTIMATE_COLUMNS) <= set(table.columns):
        sheets = [_estimates_page(part, caption, digits) for part in _alike(table)]
    else:
        sheets = [_plain_sheet(table, caption, digits)]
    return "\n".join(map(_latex if form == "latex" else _markdown, sheets))


def _alike(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Splits a table into parts of one family with common measures, so that no columns stay empty."""
    import pandas as pd

    pages: list[tuple[str, set[str], list[pd.DataFrame]]] = []
    for (family, _, _, _), rows in table.groupby(["family", "benchmark", "scorer", "by"], sort=False):
        measures = set(rows["measure"])
        page_of = next((page for page in pages if page[0] == family and page[1] & measures), None)
        if page_of is None:
            pages.append((str(family), measures, [rows]))
        else:
            page_of[1].update(measures)
            page_of[2].append(rows)
    return [pd.concat(parts).sort_index() for _, _, parts in pages]


def _estimates_page(table: pd.DataFrame, caption: str, digits: int | None) -> Page:
    """A table with measures as columns. Names that are the same in every row go into the caption."""
    measures = list(dict.fromkeys(table["measure"]))
    order = {name: n for n, name in enumerate(dict.fromkeys(table["benchmark"]))}
    table = table.sort_values("benchmark", key=lambda names: names.map(order), kind="stable")
    keys = [name for name in PLACE if table[name].nunique() > 1]
    if table[table["by"] != "all"]["by"].nunique() < 2:  # `group` is enough
        keys = [name for name in keys if name != "by"]
    fixed = [str(table[name].iloc[0]) for name in PLACE[:3] if name not in keys]
    keys = keys or ["model"]
    rows = []
    for key, part in table.groupby(keys, sort=False):
        of = {row["measure"]: row for _, row in part.iterrows()}
        cells = [_value(of[measure], digits) if measure in of else "" for measure in measures]
        rows.append([*map(str, key), *cells, _span(part["n"]), _span(part["n_missing"])])
    heads = [*keys, *(_head(measure, table) for measure in measures), "n", "missing"]
    title = ". ".join(filter(None, [caption, ", ".join(fixed)]))
    note = "Intervals are in brackets, neutral values of measures in parentheses."
    note += " The neutral value of |difference| is 0." if (table["group"] == "|difference|").any() else ""
    return Page(f"{title}. {note}" if title else note, heads, rows, [False] * len(keys) + [True] * (len(measures) + 2))


def _plain_sheet(table: pd.DataFrame, caption: str, digits: int | None) -> Page:
    """Any tidy table; `low` and `high` are written in brackets after the column before them."""
    columns = [str(name) for name in table]
    holder = columns[columns.index("low") - 1] if {"low", "high"} <= set(columns) and columns.index("low") else ""
    shown = [name for name in columns if not holder or name not in ("low", "high")]
    rows = []
    for _, row in table.iterrows():
        cells = [_cell(name, row[name], digits) for name in shown]
        if holder:
            at = shown.index(holder)
            cells[at] = _bracketed(cells[at], *(_cell(holder, row[edge], digits) for edge in ("low", "high")))
        rows.append(cells)
    numbers = [table[name].dtype.kind in "iuf" for name in shown]
    return Page(caption, [f"{name} (interval)" if name == holder else name for name in shown], rows, numbers)


def _head(measure: str, table: pd.DataFrame) -> str:
    neutral = table[table["measure"] == measure]["neutral"].iloc[0]
    return measure if np.isnan(neutral) else f"{measure} ({neutral:g})"


def _value(row: Any, digits: int | None) -> str:
    if np.isnan(row["value"]):
        return "missing"
    places = digits if digits is not None else decimals_of(row["measure"], row["value"])
    value, low, high = (f"{row[name]:.{places}f}" for name in ("value", "low", "high"))
    return value if np.isnan(row["low"]) else _bracketed(value, low, high)


def _bracketed(value: str, low: str, high: str) -> str:
    return f"{value} [{low}, {high}]" if low else value


def _cell(name: str, value: Any, digits: int | None) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if name in ("p", "p_holm"):
        return p_text(value).removeprefix("= ")
    if isinstance(value, float | np.floating):
        places = digits if digits is not None else 3 if abs(float(value)) < 10 else 2
        return f"{value:.{places}f}"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_) else str(value)


def _span(counts: Any) -> str:
    """One number, or the smallest and largest where measures use different items."""
    return f"{counts.min():,}" if counts.nunique() == 1 else f"{counts.min():,}–{counts.max():,}"


def _latex(sheet: Page) -> str:
    columns = "".join("r" if number else "l" for number in sheet.numbers)
    # LaTeX would read a bracket at the start of a row as an argument of the line break before it.
    cells = [" & ".join(map(_escape_latex, row)) + r" \\" for row in (sheet.heads, *sheet.rows)]
    lines = ["{}" * row.startswith("[") + row for row in cells]
    caption = [rf"\caption{{{_escape_latex(sheet.caption)}}}"] if sheet.caption else []
    whole = [
        r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule",
        lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}", *caption, r"\end{table}",
    ]  # fmt: skip
    return "\n".join(whole) + "\n"


def _escape_latex(text: str) -> str:
    """The text escaped for LaTeX; a hyphen before a number becomes a minus."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", " ".join(text.split()))
    return "".join(TO_LATEX.get(letter, letter) for letter in text).replace("–", "--")


def _markdown(sheet: Page) -> str:
    rule = ["---:" if number else "---" for number in sheet.numbers]
    rows = (list(map(_escape_markdown, row)) for row in (sheet.heads, *sheet.rows))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|{'|'.join(rule)}|")
    return "\n".join([*([_escape_markdown(sheet.caption), ""] if sheet.caption else []), *lines]) + "\n"


def _escape_markdown(text: str) -> str:
    """The text escaped for Markdown, except where Markdown needs no escape (an underscore inside a word, [1, 2])."""
    return re.sub(r"[\\`*<>|#]|(?<!\w)_|_(?!\w)|\[(?![\d+−-])", r"\\\g<0>", " ".join(text.split()))
