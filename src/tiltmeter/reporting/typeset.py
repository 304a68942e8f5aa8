"""Tables for papers and pages: the same numbers as LaTeX (booktabs) and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import UNSHOWABLE, fixed, p_cell, visible
from tiltmeter.errors import UsageError
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.stats.estimates import is_estimates

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {"latex": ".tex", "markdown": ".md"}
TO_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$",
    "Δ": r"$\Delta$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "…": r"\ldots{}", "|": r"\textbar{}",
}  # fmt: skip
MEASURE, SCORER = "measure", "scorer"
"""Choices for the columns of a table of estimates."""
BRACKETS = "Intervals are in brackets"
PLACE = ("benchmark", "model", "scorer", "by", "group")
COMPARED = ("model", "baseline", "benchmark", "scorer", "measure", "group")


@dataclass(frozen=True)
class Page:
    """A table as text: caption, column heads, rows, and which columns are numbers."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[bool]


def typeset(
    table: pd.DataFrame,
    form: str = "latex",
    caption: str = "",
    digits: int | None = None,
    label: str = "",
    *,
    columns: str = MEASURE,
    confidence: float | None = None,
) -> str:
    """A table as LaTeX or Markdown. Estimates: a row per model, scorer and group, a column per measure with its interval.

    Comparisons: a row per difference. Other tables (of studies) keep their columns; an interval is written into the cell of
    its value. What is the same in all rows is said in the caption; in LaTeX a name is not repeated below itself.

    Args:
        table: Estimates, differences, or a table of a study.
        form: latex or markdown.
        caption: A sentence before what the caption says by itself.
        digits: Decimals. Default: those of each measure.
        label: For references in LaTeX.
        columns: What the columns of estimates are: `measure`, or `scorer` for a wide table of each measure.
        confidence: The level of the intervals, for the caption.

    Returns:
        The text of the table.

    Raises:
        UsageError: The table is empty, or the form is unknown.

    Example:
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=8), "sss", cache=False)
        >>> print(tiltmeter.typeset(tiltmeter.estimate(scores, "bias_score", by=()), "markdown").splitlines()[2])
        | model | bias_score (50) | n | missing |
    """
    if columns not in (MEASURE, SCORER):
        message = f"Columns are {MEASURE} or {SCORER}, not '{columns}'."
        raise UsageError(message, code="unknown-name", option="--columns", name=columns, names=[MEASURE, SCORER])
    if form not in FORMATS:
        message = f"The format of a table must be {' or '.join(FORMATS)}, not '{form}'."
        raise UsageError(message, code="unknown-name", option="--format", name=form, names=list(FORMATS))
    if not len(table):
        raise UsageError("The table is empty, so there is nothing to write.", code="empty-selection")
    if is_estimates(table):
        parts = _alike(table) if columns == MEASURE else [rows for _, rows in table.groupby(MEASURE, sort=False)]
        sheets = [_estimates_page(part, caption, digits, columns) for part in parts]
    elif {"difference", "baseline_value", "measure"} <= set(table.columns):
        sheets = [_differences_page(table, caption, digits)]
    else:
        sheets = [_plain_sheet(table, caption, digits)]
    sheets = [_with_level(sheet, confidence) for sheet in sheets]
    labels = [label and (f"tab:{label}" if number == 1 else f"tab:{label}-{number}") for number in range(1, len(sheets) + 1)]
    return "\n".join(
        _latex(sheet, name) if form == "latex" else _markdown(sheet) for sheet, name in zip(sheets, labels, strict=True)
    )


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


def _with_level(sheet: Page, confidence: float | None) -> Page:
    """Name the level of the intervals in the caption."""
    level = "" if confidence is None else f" ({round(100 * confidence, 4):g} %)"
    return replace(sheet, caption=sheet.caption.replace(BRACKETS, f"Intervals{level} are in brackets"))


def _without_repeats(sheet: Page) -> list[Sequence[str]]:
    """The rows without names that stand above already. The last name of a row is always there."""
    names = sheet.numbers.index(True) if True in sheet.numbers else len(sheet.numbers)
    rows: list[Sequence[str]] = []
    above: list[str] = [""] * names
    for row in sheet.rows:
        same = next((n for n in range(names) if row[n] != above[n]), names)
        shown = max(0, min(same, names - 1))
        rows.append([*([""] * shown), *row[shown:]])
        above = list(row[:names])
    return rows


def _estimates_page(table: pd.DataFrame, caption: str, digits: int | None, columns: str) -> Page:
    """A table with measures, or scorers, as columns. Names that are the same in every row go into the caption."""
    heads_of, places = list(dict.fromkeys(table[columns])), _places(table, digits, "value")
    order = {name: n for n, name in enumerate(dict.fromkeys(table["benchmark"]))}
    table = table.sort_values("benchmark", key=lambda names: names.map(order), kind="stable")
    keys = [name for name in PLACE if table[name].nunique() > 1 and name != columns]
    if table[table["by"] != "all"]["by"].nunique() < 2:  # `group` is enough
        keys = [name for name in keys if name != "by"]
    fixed = [str(table[name].iloc[0]) for name in PLACE[:3] if name not in (*keys, columns)]
    fixed += [_head(str(table[MEASURE].iloc[0]), table)] if columns == SCORER else []
    keys = keys or ["model"]
    rows = []
    for key, part in table.groupby(keys, sort=False):
        of = {row[columns]: row for _, row in part.iterrows()}
        cells = [_value(of[name], places[of[name][MEASURE]]) if name in of else "" for name in heads_of]
        rows.append([*map(str, key), *cells, _span(part["n"]), _span(part["n_missing"])])
    heads = [*keys, *(_head(name, table) if columns == MEASURE else name for name in heads_of), "n", "missing"]
    title = ". ".join(filter(None, [caption, ", ".join(fixed)]))
    note = f"{BRACKETS}, neutral values of measures in parentheses."
    note += " The neutral value of |difference| is 0." if (table["group"] == "|difference|").any() else ""
    return Page(f"{title}. {note}" if title else note, heads, rows, [False] * len(keys) + [True] * (len(heads_of) + 2))


def _differences_page(table: pd.DataFrame, caption: str, digits: int | None) -> Page:
    """A row per difference between two models."""
    names = [name for name in COMPARED if table[name].nunique() > 1]
    names = names or ["measure"]
    fixed_names = [str(table[name].iloc[0]) for name in COMPARED[2:5] if name not in names]
    who = " minus ".join(table[name].iloc[0] if name not in names else f"the {name}" for name in COMPARED[:2])
    places = _places(table, digits, "value", "baseline_value")
    rows = []
    for _, row in table.iterrows():
        n = places[row["measure"]]
        values = [fixed(row[name], n) if np.isfinite(row[name]) else "missing" for name in ("value", "baseline_value")]
        gap = "missing" if np.isnan(row["difference"]) else fixed(row["difference"], n, "+")
        if np.isfinite(row["low"]):
            gap = f"{gap} [{fixed(row['low'], n, '+')}, {fixed(row['high'], n, '+')}]"
        p = _cell("p_holm", row["p_holm"], digits)
        rows.append([*(str(row[name]) for name in names), *values, gap, f"{row['n']:,}", p])
    heads = [*names, "value", "baseline", "difference (interval)", "n", "p (Holm)"]
    numbers = [False] * len(names) + [True] * 5
    where = ", ".join(filter(None, [f"Differences: {who}", *fixed_names]))
    same = table["n"].nunique() == 1
    title = ". ".join(filter(None, [caption, f"{where}, n = {table['n'].iloc[0]:,}" if same else where]))
    tests = sorted({int(n) for n in table["n_tests"] if n})
    counts, several = " or ".join(map(str, tests)), max(tests, default=1) > 1
    over = f" p is corrected by Holm's method over {counts} tests; each interval is for its own row." if several else ""
    page = Page(f"{title}. {BRACKETS}.{over}", heads, rows, numbers)
    return _without(page, "n") if same else page


def _places(table: pd.DataFrame, digits: int | None, *columns: str) -> dict[str, int]:
    """One number of decimals for each measure, whatever its rows."""
    if digits is not None:
        return dict.fromkeys(map(str, table["measure"]), digits)
    return {
        str(measure): decimals_of(str(measure), *rows[list(columns)].to_numpy(dtype=float).ravel())
        for measure, rows in table.groupby("measure", sort=False)
    }


def _without(page: Page, head: str) -> Page:
    at = [n for n, name in enumerate(page.heads) if name != head]
    rows = [[row[n] for n in at] for row in page.rows]
    return replace(page, heads=[page.heads[n] for n in at], rows=rows, numbers=[page.numbers[n] for n in at])


def _plain_sheet(table: pd.DataFrame, caption: str, digits: int | None) -> Page:
    """Any tidy table; `low` and `high` are written in brackets after the column before them."""
    columns = [str(name) for name in table]
    holder = columns[columns.index("low") - 1] if {"low", "high"} <= set(columns) and columns.index("low") else ""
    same = [
        name for name in columns if len(table) > 1 and name not in (holder, "low", "high") and table[name].nunique() == 1
    ]
    same = same if len(same) < len(columns) - 2 * bool(holder) else []
    shown = [name for name in columns if name not in same and not (holder and name in ("low", "high"))]
    rows = []
    for _, row in table.iterrows():
        cells = [_cell(name, row[name], digits) for name in shown]
        if holder:
            at = shown.index(holder)
            cells[at] = _bracketed(cells[at], *(_cell(holder, row[edge], digits) for edge in ("low", "high")))
        rows.append(cells)
    numbers = [table[name].dtype.kind in "iuf" for name in shown]
    said = ", ".join(f"{name} {_cell(name, table[name].iloc[0], digits)}" for name in same)
    title = ". ".join(filter(None, [caption, f"In all rows: {said}" if said else ""]))
    title = title and f"{title.rstrip('.')}."
    return Page(title, [f"{name} (interval)" if name == holder else name for name in shown], rows, numbers)


def _head(measure: str, table: pd.DataFrame) -> str:
    neutral = table[table["measure"] == measure]["neutral"].iloc[0]
    return measure if np.isnan(neutral) else f"{measure} ({neutral:g})"


def _value(row: Any, places: int) -> str:
    if np.isnan(row["value"]):
        return "missing"
    value, low, high = (fixed(row[name], places) for name in ("value", "low", "high"))
    return value if np.isnan(row["low"]) else _bracketed(value, low, high)


def _bracketed(value: str, low: str, high: str) -> str:
    return f"{value} [{low}, {high}]" if low else value


def _cell(name: str, value: Any, digits: int | None) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if name in ("p", "p_holm"):
        return p_cell(value)
    if isinstance(value, float | np.floating):
        places = digits if digits is not None else 3 if abs(float(value)) < 10 else 2
        return fixed(float(value), places)
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_) else str(value)


def _span(counts: Any) -> str:
    """One number, or the smallest and largest where measures use different items."""
    return f"{counts.min():,}" if counts.nunique() == 1 else f"{counts.min():,}–{counts.max():,}"


def _latex(sheet: Page, label: str = "") -> str:
    columns = "".join("r" if number else "l" for number in sheet.numbers)
    # LaTeX would read a bracket at the start of a row as an argument of the line break before it.
    cells = [" & ".join(map(_escape_latex, row)) + r" \\" for row in (sheet.heads, *_without_repeats(sheet))]
    lines = ["{}" * row.startswith("[") + row for row in cells]
    caption = [rf"\caption{{{_escape_latex(sheet.caption)}}}"] if sheet.caption else []
    caption += [rf"\label{{{label}}}"] if label and caption else []
    whole = [
        r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule",
        lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}", *caption, r"\end{table}",
    ]  # fmt: skip
    return "\n".join(whole) + "\n"


def _escape_latex(text: str) -> str:
    """The text escaped for LaTeX; a hyphen before a number becomes a minus."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", " ".join(UNSHOWABLE.sub("?", text).split()))
    return "".join(TO_LATEX.get(letter, letter) for letter in text).replace("–", "--")


def _markdown(sheet: Page) -> str:
    rule = ["---:" if number else "---" for number in sheet.numbers]
    rows = (list(map(_escape_markdown, row)) for row in (sheet.heads, *sheet.rows))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|{'|'.join(rule)}|")
    return "\n".join([*([_escape_markdown(sheet.caption), ""] if sheet.caption else []), *lines]) + "\n"


def _escape_markdown(text: str) -> str:
    """The text escaped for Markdown, except where Markdown needs no escape (an underscore inside a word, [1, 2])."""
    return re.sub(r"[\\`*<>|#]|(?<!\w)_|_(?!\w)|\[(?![\d+−-])", r"\\\g<0>", " ".join(visible(text).split()))
