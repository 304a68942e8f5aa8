"""A check of measures that others wrote: a stack of rows must give each row's own value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SCORES = ("stereo", "anti", "unrelated", "predicted", "actual")
RANKS = ("rank", "other_rank")
SHARES = ("probability", "other_probability", "own_probability", "rival_probability")
CODES = ("target", "pole", "about")
ROWS, ITEMS, TOP = 3, 12, 100
ADVICE = "take means, sums and counts over the last axis (axis=-1)"


def made_up_columns(parameters: tuple[str, ...]) -> dict[str, Any] | None:
    """Make three rows of twelve items of everything that a measure reads; None where it reads what is not known here.

    Codes of items, and k, are the same for all rows.
    """
    rng, size = np.random.default_rng(0), (ROWS, ITEMS)
    columns: dict[str, Any] = {}
    for name in parameters:
        if name in SCORES:
            columns[name] = rng.normal(-20.0, 5.0, size)
        elif name in SHARES:
            columns[name] = rng.uniform(0.01, 0.5, size)
        elif name in RANKS:
            columns[name] = 1.0 + (7 * np.arange(ROWS * ITEMS).reshape(size) + len(columns)) % TOP
        elif name in CODES:
            columns[name] = np.arange(ITEMS) % 2
        elif name == "k":
            columns[name] = np.int64(TOP)
        else:
            return None
    return columns


def _row(columns: dict[str, Any], row: int) -> dict[str, Any]:
    return {name: values[row] if np.ndim(values) == 2 else values for name, values in columns.items()}


def fault_of(measure: Callable[..., Any], parameters: tuple[str, ...]) -> str:
    """Return what is wrong with how a measure treats rows, as the rest of a sentence; empty where nothing is.

    >>> fault_of(lambda stereo, anti: np.mean(stereo - anti, axis=-1), ("stereo", "anti"))
    ''
    >>> fault_of(lambda stereo, anti: np.mean(stereo - anti), ("stereo", "anti")).split(":")[0]
    'returns shape () for 3 rows of 12 items instead of (3,)'
    """
    columns = made_up_columns(parameters)
    if columns is None:
        return ""
    try:
        with np.errstate(all="ignore"):
            whole = np.asarray(measure(**columns), dtype=np.float64)
            rows = [np.asarray(measure(**_row(columns, row)), dtype=np.float64) for row in range(ROWS)]
    except Exception as error:  # the code of others may raise what it likes
        return f"fails on made-up items: {type(error).__name__}: {error}"
    if whole.shape != (ROWS,):
        return f"returns shape {whole.shape} for {ROWS} rows of {ITEMS} items instead of ({ROWS},): {ADVICE}"
    if any(row.ndim for row in rows):
        return f"returns shape {rows[0].shape} for one row of {ITEMS} items instead of one number: {ADVICE}"
    if not np.allclose(whole, np.array(rows), rtol=1e-9, atol=1e-9, equal_nan=True):
        return f"mixes rows: in a stack of rows they have other values than alone; {ADVICE}"
    return ""
