"""One number with everything needed to read it, and the difference of two: the rows of estimates.csv and of comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tiltmeter.stats.significance import holm

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """One number of one model on one benchmark. Unknown values are NaN, and `note` says why.

    `scorer` says how the model was asked; `by` and `group` say what the number is about (`all` is everything).
    `missing` counts, as JSON, the reasons why items are excluded.
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
    missing: str = ""
    note: str = ""


@dataclass(frozen=True)
class Difference:
    """One number of one model minus that of another, over what both answered."""

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
    note: str = ""


Row = TypeVar("Row", Estimate, Difference)
ESTIMATE_COLUMNS = tuple(field.name for field in fields(Estimate))
COMPARE_COLUMNS = tuple(field.name for field in fields(Difference))


def estimates_table(rows: Iterable[Estimate]) -> pd.DataFrame:
    """The columns of estimates.csv."""
    return _table(rows, ESTIMATE_COLUMNS)


def differences_table(rows: Iterable[Difference]) -> pd.DataFrame:
    """The columns of a comparison."""
    return _table(rows, COMPARE_COLUMNS)


def _table(rows: Iterable[Any], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([vars(row) for row in rows], columns=list(columns))


def corrected(rows: Sequence[Row]) -> list[Row]:
    """The rows with Holm's correction over all of them."""
    return [replace(row, p_holm=p) for row, p in zip(rows, holm([row.p for row in rows]), strict=True)]
