"""Stored answers of association tests: one row per word, text or attribute that was queried, and CEAT's draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
COLUMNS = (
    "model", "benchmark", "asked", "scorer", "domain", "test", "set", "category", "text", "quantity", "value", "usable",
    "reason",
)  # fmt: skip
"""`asked`: seat, ceat, ilps or kurita. `set`: X, Y, A or B of a test, or a group. Where not `usable`, `reason` says why."""
DRAW_COLUMNS = ("model", "benchmark", "scorer", "test", "set", "category", "text", "draw", "effect", "variance")
"""One row per draw of contexts: the effect size of a test, or of one word of a group (which has no variance of its own)."""
KEY = ("model", "benchmark", "asked", "scorer", "domain", "test", "set", "category", "text", "quantity")


@dataclass
class Facts:
    """One model's answers to one benchmark, collected during inference."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    draws: list[dict[str, Any]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    details: dict[str, Any] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    """The texts that the model read."""

    def add(self, other: Facts) -> None:
        """Adds further answers."""
        self.rows += other.rows
        self.draws += other.draws
        self.notes += other.notes
        self.details |= other.details
        self.shown += other.shown

    def tables(self, model: str, benchmark: str) -> dict[str, pd.DataFrame]:
        """The tables in the form in which they are stored."""
        import pandas as pd

        place = {"model": model, "benchmark": benchmark}
        facts = pd.DataFrame([place | row for row in self.rows], columns=list(COLUMNS))
        if not self.draws:
            return {"associations": facts}
        draws = pd.concat([pd.DataFrame(place | drawn) for drawn in self.draws], ignore_index=True)
        return {"associations": facts, "draws": draws[list(DRAW_COLUMNS)]}


def fact(kind: str, scorer: str, **columns: Any) -> dict[str, Any]:
    """One row; columns that are not given are empty."""
    blank = {"domain": "", "set": "", "category": "", "value": np.nan, "usable": True, "reason": None}
    return {"asked": kind, "scorer": scorer} | blank | columns


def draws_of(scorer: str, place: dict[str, str], effects: Floats, variances: Floats | None = None) -> dict[str, Any]:
    """The draws of one test or word."""
    n = len(effects)
    return {"scorer": scorer, **place, "draw": np.arange(n), "effect": effects,
            "variance": np.full(n, np.nan) if variances is None else variances}  # fmt: skip


def too_few(sides: Sequence[tuple[str, int]], least: int, what: str, more: str = "") -> str:
    """Why a test was not computed.

    >>> too_few([("X", 1), ("A", 0)], 2, "word")
    'not computed: X has 1 usable word and A has 0 usable words; at least 2 are needed'
    """
    parts = [f"{side} has {n} usable {what}{'' if n == 1 else 's'}" for side, n in sides]
    return f"not computed: {' and '.join(parts)}{more}; at least {least} are needed"
