"""One number with everything needed to read it, and the difference of two: the rows of estimates.csv and of comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from tiltmeter.stats.significance import holm

if TYPE_CHECKING:
    import pandas as pd

Details = Mapping[str, int | float | str]
"""Facts about an estimate that code may read: `n_groups`, `n_clusters`, `tau2`, `top_k` and the like."""


@final
@dataclass(frozen=True)
class Estimate:
    """One number of one model on one benchmark. Unknown values are NaN, and `note` says why.

    Attributes:
        model: Name of the model.
        benchmark: Name of the benchmark.
        family: Kind of question.
        scorer: How the model was queried.
        measure: Function that gave the number.
        by: Column that items are grouped by; `all` is one group of all items.
        group: Group that the number is about.
        n: Units behind the number, such as pairs or texts.
        n_missing: Units left out because an answer is missing.
        n_ties: Units whose two sides are equal.
        value: The number.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.
        neutral: Value of the measure for a model without the bias.
        p: p-value of the difference from neutral.
        p_holm: p after Holm's correction.
        corrected_over: The tests that p is corrected for.
        missing: Reasons why items are excluded, with counts, as JSON.
        details: Further facts by name.
        note: Remarks for people; no code reads them.
    """

    model: str
    benchmark: str
    family: str
    scorer: str
    measure: str
    by: str
    group: str
    n: int = 0
    n_missing: int = 0
    n_ties: int = 0
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    neutral: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    corrected_over: str = ""
    missing: str = ""
    details: Details = field(default_factory=dict)
    note: str = ""


@final
@dataclass(frozen=True)
class Difference:
    """One number of one model minus that of another, over what both answered.

    Attributes:
        benchmark: Name of the benchmark.
        family: Kind of question.
        scorer: How the models were queried.
        measure: Function that gave the numbers.
        by: Column that items are grouped by; `all` is one group of all items.
        group: Group that the numbers are about.
        model: Name of the model.
        baseline: Name of the model that it is compared with.
        n: Units that both models answered.
        n_missing: Units left out because an answer of either model is missing.
        value: The number of the model.
        baseline_value: The number of the baseline.
        difference: The number of the model minus that of the baseline.
        low: Lower end of the confidence interval of the difference.
        high: Upper end of the confidence interval of the difference.
        p: p-value of the difference.
        p_holm: p after Holm's correction.
        corrected_over: The tests that p is corrected for.
        n_tests: Number of these tests.
        change: Closer to neutral (or the ideal value) than the baseline, or further, where p_holm (else p) is below 0.05;
            else empty.
        details: Further facts by name.
        note: Remarks for people; no code reads them.
    """

    benchmark: str
    family: str
    scorer: str
    measure: str
    by: str
    group: str
    model: str
    baseline: str
    n: int = 0
    n_missing: int = 0
    value: float = np.nan
    baseline_value: float = np.nan
    difference: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    corrected_over: str = ""
    n_tests: int = 0
    change: str = ""
    details: Details = field(default_factory=dict)
    note: str = ""


Row = TypeVar("Row", Estimate, Difference)
ESTIMATE_COLUMNS = tuple(one.name for one in fields(Estimate))
COMPARE_COLUMNS = tuple(one.name for one in fields(Difference))
ADDED = {"details", "corrected_over"}
"""Columns that tables of earlier versions lack."""


def estimates_table(rows: Iterable[Estimate]) -> pd.DataFrame:
    """The columns of estimates.csv."""
    return _table(rows, ESTIMATE_COLUMNS)


def differences_table(rows: Iterable[Difference]) -> pd.DataFrame:
    """The columns of a comparison."""
    return _table(rows, COMPARE_COLUMNS)


def _table(rows: Iterable[Any], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    records = [vars(row) | {"details": details_text(row.details)} for row in rows]
    return pd.DataFrame(records, columns=list(columns))


def is_estimates(table: Any) -> bool:
    """Return whether a table has the columns of estimates. Tables of earlier versions lack some."""
    return set(ESTIMATE_COLUMNS) - ADDED <= set(getattr(table, "columns", ()))


def details_text(details: Details) -> str:
    """Write details as JSON for a column of a table. Numbers that are not finite are unknown and left out.

    >>> details_text({"n_groups": 4, "tau2": float("nan")}), details_text({})
    ('{"n_groups": 4}', '')
    """
    known = {name: value for name, value in details.items() if isinstance(value, str) or np.isfinite(value)}
    return json.dumps(known, ensure_ascii=False, default=lambda number: number.item()) if known else ""


def details_of(row: Mapping[str, Any] | pd.Series) -> Details:
    """Return the details in a row of a table; nothing where the table has no such column.

    Raises:
        ValueError: The cell is not a JSON object.

    >>> details_of({"details": '{"n_groups": 4}'}), details_of({"note": "an earlier version"})
    ({'n_groups': 4}, {})
    """
    text = row.get("details")
    details = json.loads(text) if isinstance(text, str) and text else {}
    if not isinstance(details, dict):
        raise ValueError(f"details must be a JSON object, not {text}")
    return details


def missing_columns(reasons: Mapping[str, int]) -> dict[str, Any]:
    """Return the columns with the number of missing items and the reasons.

    >>> missing_columns({"no score": 2}), missing_columns({})
    ({'n_missing': 2, 'missing': '{"no score": 2}'}, {'n_missing': 0, 'missing': ''})
    """
    return {"n_missing": sum(reasons.values()), "missing": json.dumps(dict(reasons)) if reasons else ""}


def joined(*remarks: str) -> str:
    """Join remarks that are not empty, for a note.

    >>> joined("9 tokens", "", "no interval")
    '9 tokens; no interval'
    """
    return "; ".join(filter(None, remarks))


def each_corrected(batches: Iterable[Row | list[Row]]) -> Iterator[Row]:
    """Yield rows one by one; those of a list are tested together and have Holm's correction over the list."""
    for rows in batches:
        yield from corrected(rows) if isinstance(rows, list) else (rows,)


def corrected(rows: Sequence[Row], over: str = "") -> list[Row]:
    """Return the rows with Holm's correction over all of them, and over which tests that is.

    Args:
        rows: Estimates or differences with their p.
        over: The tests in a few words. Default: the groups of the rows' column.
    """
    n_tests = sum(not np.isnan(row.p) for row in rows)
    named = f"{n_tests} test{'s' * (n_tests != 1)}: {over or (rows[0].by if rows else '')}"
    found = []
    for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
        made = replace(row, p_holm=p, corrected_over="" if np.isnan(row.p) else named)
        found.append(replace(made, n_tests=n_tests) if isinstance(made, Difference) and not np.isnan(row.p) else made)
    return found


def correct_rest(rows: list[Row], places: Sequence[int], over: str) -> None:
    """Correct, in place, those of some rows that have a p and no correction."""
    rest = [at for at in places if np.isnan(rows[at].p_holm) and not np.isnan(rows[at].p)]
    for at, row in zip(rest, corrected([rows[at] for at in rest], over), strict=True):
        rows[at] = row
