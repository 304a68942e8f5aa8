"""One number with everything needed to read it, and the difference of two: the rows of estimates.csv and of comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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

    `scorer` says how the model was queried; `by` and `group` say what the number is about (`all` is everything).
    `p_holm` is p after Holm's correction over the tests that `corrected_over` names. `missing` counts, as JSON, the reasons
    why items are excluded. `details` holds further facts by name; `note` is for people, and no code reads it.
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
    """One number of one model minus that of another, over what both answered. `details` and `note` are as in `Estimate`.

    `p_holm` is p after Holm's correction over `n_tests` tests, which `corrected_over` names. `change` says whether the model
    is closer to neutral (or to the ideal value) than the baseline, or further from it; empty for a measure without either.
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
