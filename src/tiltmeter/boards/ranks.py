"""Ranks with their uncertainty, from paired comparisons of every two models on the same items.

How much worse one model is than another has a paired interval. Its half width gives a standard error, that a normal p,
and p is corrected by Holm's method over all pairs of models of a column. A model's place lies between one more than the
number of models that are significantly better, and the number of models less those that are significantly worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.items import has_column
from tiltmeter.boards.columns import Column
from tiltmeter.families import Answers, find_family
from tiltmeter.stats.direction import distance, worse_is, worsening
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import holm, smallest_difference

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rank:
    """The place by value, the best and the worst it may be, and the models that do not differ significantly from it."""

    place: int
    best: int
    worst: int
    alike: tuple[str, ...]

    @property
    def text(self) -> str:
        """The place, and its range where there is one."""
        return f"{self.place}" if self.best == self.worst else f"{self.place} ({self.best}–{self.worst})"


def ranks_of(column: Column, rows: pd.DataFrame, compared: Compared) -> dict[str, Rank]:
    """Model → rank. Empty where a measure knows no better and worse; models without a value have no rank."""
    measure = catalog.find("measures", column.measure)
    with_value = {str(row["model"]): row for _, row in rows.iterrows() if math.isfinite(row["value"])}
    if not worse_is(measure) or len(with_value) < 2 or not _same_neutral(rows, measure):
        return {}
    worse = _significantly_worse(column, with_value, compared)
    far = {model: distance(measure, float(row["value"])) for model, row in with_value.items()}
    order = sorted(with_value, key=lambda model: far[model])
    ranks = {}
    for model in order:
        better_ones = sum((model, other) in worse for other in with_value)
        worse_ones = sum((other, model) in worse for other in with_value)
        alike = [other for other in order if other != model and not {(model, other), (other, model)} & worse]
        place = 1 + sum(far[other] < far[model] for other in with_value)
        ranks[model] = Rank(place, 1 + better_ones, len(with_value) - worse_ones, tuple(alike))
    return ranks


def _same_neutral(rows: pd.DataFrame, measure: catalog.Entry) -> bool:
    """A contrast of two groups has a neutral point of its own, so the measure's better and worse are not its."""
    neutral = measure.spec.neutral
    return neutral is None or bool((rows["neutral"] == neutral).all())


def _significantly_worse(column: Column, rows: Mapping[str, Any], compared: Compared) -> set[tuple[str, str]]:
    """Pairs of models of which the first is worse than the second, after correction."""
    measure = catalog.find("measures", column.measure)
    pairs, p, amounts = [], [], []
    for first, second in combinations(rows, 2):
        row = compared.difference(column, first, second)
        if row is None:
            continue
        values = (row.value, row.baseline_value)
        ends = [_ends(rows[model], value) for model, value in zip((first, second), values, strict=True)]
        amount, low, high = worsening(measure, values, (row.low, row.high), (ends[0], ends[1]))
        pairs.append((first, second))
        amounts.append(amount)
        p.append(_normal_p(amount, low, high, compared.settings.confidence))
    sure = [corrected < 1 - compared.settings.confidence for corrected in holm(p)]
    return {
        pair if amount > 0 else (pair[1], pair[0])
        for pair, amount, is_sure in zip(pairs, amounts, sure, strict=True)
        if is_sure
    }


def _ends(row: Any, value: float) -> tuple[float, float]:
    """A model's own interval, moved to its value on the items that both have."""
    moved = value - float(row["value"])
    low, high = float(row["low"]) + moved, float(row["high"]) + moved
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (-math.inf, math.inf)


class Compared:
    """Paired differences of two models at a time. All groups of a column are compared at once, and kept."""

    def __init__(self, answers: Mapping[str, Answers], settings: Settings) -> None:
        self.answers, self.settings = answers, settings
        self._parts: dict[tuple[str, ...], Answers] = {}
        self._differences: dict[tuple[str, ...], dict[str, Any]] = {}

    def difference(self, column: Column, first: str, second: str) -> Any:
        """One number of the first model minus that of the second; None where there is none."""
        key = (column.family, column.benchmark, column.scorer, column.measure, column.by, first, second)
        if key not in self._differences:
            self._differences[key] = {row.group: row for row in self._rows(column, first, second)}
        row = self._differences[key].get(column.group)
        return row if row is not None and np.isfinite([row.difference, row.low, row.high]).all() else None

    def _rows(self, column: Column, first: str, second: str) -> list[Any]:
        answers = self._part(column)
        columns = [part for part in column.by.split(" × ") if has_column(answers.items, part)] if column.by != "all" else []
        measure = catalog.find("measures", column.measure)
        rows = find_family(column.family).compare(answers, first, second, [measure], columns, self.settings)
        place = (column.benchmark, column.scorer, column.by)
        return [row for row in rows if (row.benchmark, row.scorer, row.by) == place]

    def _part(self, column: Column) -> Answers:
        """The answers that a column is about: less is compared faster."""
        key = (column.family, column.benchmark, column.scorer)
        if key not in self._parts:
            part = self.answers[column.family].where(benchmark=column.benchmark)
            self._parts[key] = part.where(scorer=column.scorer) if "scorer" in part.table else part
        return self._parts[key]


def _normal_p(amount: float, low: float, high: float, confidence: float) -> float:
    """p of an amount from its interval: the nearer end decides, since intervals need not be symmetric."""
    from scipy.stats import norm

    half = amount - low if amount > 0 else high - amount
    if amount == 0 or not math.isfinite(half):
        return 1.0
    if half <= 0:
        return 0.0
    return float(2 * norm.sf(abs(amount) / half * smallest_difference(1.0, confidence, power=0.5)))
