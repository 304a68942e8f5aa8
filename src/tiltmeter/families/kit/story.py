"""What a family has to say about one model on one benchmark; the terminal, a notebook and the page show it alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Gauge:
    """A percentage with its interval, drawn around neutral. `label` says it in words."""

    value: float
    low: float
    high: float
    neutral: float
    label: str


@dataclass(frozen=True)
class Story:
    """One model on one benchmark: a verdict in a few words, its number, and sentences computed from the estimates.

    `tone` colours it: towards or away (from stereotypes), sure, unsure, or plain. `head` is the estimate that the number
    is, if it is one; comparisons and the power of the test are told about that one.
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

    @property
    def text(self) -> str:
        """In one line, for the terminal."""
        return f"{self.model} on {self.benchmark}: {' '.join(self.sentences)}"


@dataclass(frozen=True)
class Sheet:
    """A table of estimates as a family wants it shown: its rows, which column names them, and what it is about.

    Where `pivot`, measures stand side by side in the terminal, and each has a table of its own on the page; otherwise
    every estimate is a row. `rows_are` is scorer or group, and `about` is a remark for readers of the page.
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
    """Whether the test of an estimate, corrected where there are several, tells it from neutral."""
    return bool((row["p"] if np.isnan(row["p_holm"]) else row["p_holm"]) < SIGNIFICANT)


def capital(text: str) -> str:
    """A sentence starts with a capital; a name in it keeps its own.

    >>> capital("white and Black terms")
    'White and Black terms'
    """
    return text[:1].upper() + text[1:]


def in_order(names: Sequence[str], first: Sequence[str]) -> list[str]:
    """Names in a given order, the others behind."""
    return [name for name in dict.fromkeys(first) if name in names] + [name for name in names if name not in first]


def is_percentage(measure: str) -> bool:
    """Whether a measure ends at 100; of one that this version does not know that is not known.

    >>> is_percentage("bias_score"), is_percentage("effect_size"), is_percentage("somebody's")
    (True, False, False)
    """
    if measure not in catalog.names("measures"):
        return False
    low, high = catalog.find("measures", measure).constant("RANGE") or (-np.inf, np.inf)
    return bool(low >= 0 and high == 100)


def decimals_of(measure: str, *values: float) -> int:
    """Percentages, and other large values, need fewer decimals than shares and effects."""
    return 2 if is_percentage(measure) or any(abs(value) >= 10 for value in values) else 3


def value_text(row: Any) -> str:
    """A value with its interval, or that there is none."""
    if np.isnan(row["value"]):
        return "missing"
    places = decimals_of(row["measure"], row["value"])
    value, edge = f".{places}f", ".3f" if places == 3 else ".1f"
    if np.isnan(row["low"]):
        return f"{row['value']:{value}}"
    return f"{row['value']:{value}} [{row['low']:{edge}}, {row['high']:{edge}}]"
