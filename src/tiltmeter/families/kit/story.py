"""The summary of one model on one benchmark, which the terminal, a notebook and the page show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import MISSING, number_text, range_text

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
MOST_DECIMALS = 7
MIDDLE = 50.0
"""The neutral point of most percentages. A share that is compared with another share has that one instead."""


@dataclass(frozen=True)
class Gauge:
    """A percentage with its interval, drawn around neutral. `label` is the text for it."""

    value: float
    low: float
    high: float
    neutral: float
    label: str


@dataclass(frozen=True)
class Story:
    """One model on one benchmark: a verdict in a few words, its number, and sentences computed from the estimates.

    `tone` sets the colour: towards or away (from stereotypes), sure, unsure, or plain. `head` is the estimate behind the
    number, if there is one; comparisons and the power of the test are about it. `worst` is a sentence about its
    worst groups.
    """

    model: str
    benchmark: str
    verdict: str
    sentences: tuple[str, ...]
    tone: str = "plain"
    number: str = ""
    unit: str = ""
    gauge: Gauge | None = None
    head: Any = None
    worst: str = ""

    @property
    def text(self) -> str:
        """The sentences in one line, for the terminal."""
        return f"{self.model} on {self.benchmark}: {' '.join(self.sentences)}"


@dataclass(frozen=True)
class Sheet:
    """A table of estimates: its rows, the column that names them, and a title.

    With `pivot`, measures are columns of one table in the terminal, and each has its own table on the page; otherwise every
    estimate is a row. `rows_are` is scorer or group, and `about` is a remark for readers of the page.
    """

    benchmark: str
    title: str
    rows: pd.DataFrame
    rows_are: str = "group"
    pivot: bool = True
    overall: bool = True
    by: str = ""
    about: str = ""


def certain(row: Any) -> bool:
    """Return whether an estimate is distinguishable from neutral, after correction where there are several tests."""
    corrected = row["p_holm"]
    is_missing = corrected is None or math.isnan(corrected)
    return bool((row["p"] if is_missing else corrected) < SIGNIFICANT)


def capital(text: str) -> str:
    """The text with a capital first letter; other capitals stay.

    >>> capital("white and Black terms")
    'White and Black terms'
    """
    return text[:1].upper() + text[1:]


def in_order(names: Sequence[str], first: Sequence[str]) -> list[str]:
    """Names in a given order, then the others."""
    return [name for name in dict.fromkeys(first) if name in names] + [name for name in names if name not in first]


def is_percentage(measure: str) -> bool:
    """Return whether a measure ranges up to 100; False for a measure that this version does not know.

    >>> is_percentage("bias_score"), is_percentage("effect_size"), is_percentage("somebody's")
    (True, False, False)
    """
    if measure not in catalog.names("measures"):
        return False
    low, high = catalog.find("measures", measure).spec.range
    return bool(low >= 0 and high == 100)


def decimals_of(measure: str, *values: float) -> int:
    """Number of decimals to show: percentages and other large values need fewer than shares and effects, small ones more.

    >>> decimals_of("bias_score", 0.001), decimals_of("effect_size", 0.4), decimals_of("effect_size", 0.0, 0.0, 0.0006)
    (2, 3, 5)
    """
    return 2 if is_percentage(measure) or any(abs(value) >= 10 for value in values) else _told_from_0(*values)


def value_text(row: Any) -> str:
    """A value with its interval, or "missing"."""
    if np.isnan(row["value"]):
        return MISSING
    places = decimals_of(row["measure"], row["value"])
    if places >= 3:
        places = _told_from_0(row["value"], row["low"], row["high"])
    interval = range_text(row["low"], row["high"], places if places >= 3 else 1)
    return " ".join(filter(None, [number_text(row["value"], places), interval]))


def _told_from_0(*values: float) -> int:
    """Three decimals, or as many as show two digits of the largest: variances of shares are small.

    >>> _told_from_0(0.2, 0.1, 0.3), _told_from_0(0.0031, 0.0012, 0.0049), _told_from_0(0.0, 0.0, 0.00061)
    (3, 4, 5)
    """
    size = max((abs(value) for value in values if np.isfinite(value)), default=0.0)
    return 3 if size == 0 or size >= 0.01 else min(MOST_DECIMALS, 1 - math.floor(math.log10(size)))
