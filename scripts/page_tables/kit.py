"""What tables share: reading stored results, and writing numbers and rows."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS, RESEARCH = ROOT / "benchmarks" / "results", ROOT / "research"


def read(name: str) -> Any:
    """Read a file of benchmarks/results."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a compressed table."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(head: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table.

    Args:
        head: The names of the columns.
        align: A letter for each column: `l` left, `r` right.
        rows: The cells of each row.
    """
    yield line(head)
    yield "|" + "".join("---:|" if side == "r" else "---|" for side in align)
    yield from (line(row) for row in rows)


def line(cells: Sequence[str]) -> str:
    """Write one row; an empty cell is one space.

    >>> line(["a", "", "b"])
    '| a | | b |'
    """
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def percent(share: float, places: int = 1) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.{places}f} %"


def signed(number: float, places: int) -> str:
    """Write a number with a minus sign, not a hyphen; a rounded 0 has no sign.

    >>> signed(-1.25, 1), signed(-0.01, 1)
    ('−1.2', '0.0')
    """
    return f"{round(number, places) + 0.0:.{places}f}".replace("-", "−")


def ranged(value: float, low: float, high: float, places: int = 1) -> str:
    """Write a value with its interval."""
    return f"{signed(value, places)} [{signed(low, places)}, {signed(high, places)}]"


def interval(row: dict[str, str], places: int = 1) -> str:
    """Write the value of a stored row with its interval."""
    return ranged(float(row["value"]), float(row["low"]), float(row["high"]), places)


def spread(values: Sequence[float], places: int = 1) -> str:
    """Write a median with the lowest and highest value."""
    middle, low, high = (f"{number:.{places}f}" for number in (median(values), min(values), max(values)))
    return f"{middle} ({low} to {high})"


def span(values: Iterable[float], places: int = 0) -> str:
    """Write the lowest and highest value; one number where both are written alike.

    >>> span([3.6, 2.9, 4.2]), span([2.0, 2.2])
    ('3 to 4', '2')
    """
    numbers = list(values)
    low, high = (f"{end:.{places}f}" for end in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"
