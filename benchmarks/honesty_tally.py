"""Simulate a part of a cell of the honesty bench, and count: false alarms, coverage and power of each of its measures."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from neutral_data.kit import MANY, Cell
from tiltmeter import catalog
from tiltmeter.families.kit.protocol import find_family
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

LEVEL, CONFIDENCE, RESAMPLES = 0.05, 0.95, 199
WITH_EFFECT = 10
"""Neutral data sets for every one with an effect."""
Row = Estimate | Difference
Facts = dict[str, Any]


@dataclass
class Tally:
    """Counts of one measure in one cell."""

    runs: int = 0
    alarms: int = 0
    tested: int = 0
    held: int = 0
    intervals: int = 0
    found: int = 0
    with_effect: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, row: Row, truth: float) -> None:
        """Count one result of neutral data."""
        self.runs += 1
        self.tested += bool(np.isfinite(row.p))
        self.alarms += bool(row.p < LEVEL)
        self.intervals += bool(np.isfinite(row.low))
        self.held += bool(row.low <= truth + 1e-9 and truth - 1e-9 <= row.high)
        if not np.isfinite(row.low):
            reason = row.note.split(";")[0] or "no interval"
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def add_effect(self, row: Row) -> None:
        """Count one result of data with an effect."""
        self.with_effect += 1
        self.found += bool(row.p < LEVEL)

    def __add__(self, other: Tally) -> Tally:
        reasons = dict(Counter(self.reasons) + Counter(other.reasons))
        counts = {name: value + getattr(other, name) for name, value in vars(self).items() if name != "reasons"}
        return Tally(**counts, reasons=reasons)

    def facts(self) -> Facts:
        """Give shares; None where at most half of the simulations have a p, or an interval."""
        tested, covered = self.tested > self.runs / 2, self.intervals > self.runs / 2
        return {
            "simulations": self.runs,
            "false_alarms": round(self.alarms / self.tested, 4) if tested else None,
            "coverage": round(self.held / self.intervals, 4) if covered else None,
            "power": round(self.found / self.with_effect, 3) if tested and self.with_effect else None,
            "intervals": self.intervals,
            "tests": self.tested,
            "reason": "" if covered else max(self.reasons, key=lambda text: self.reasons[text], default=""),
        }


Tallies = Mapping[str, Tally]


def added(one: Tallies, other: Tallies) -> dict[str, Tally]:
    """Add up the tallies of two parts of a cell."""
    return {name: one.get(name, Tally()) + other.get(name, Tally()) for name in dict.fromkeys((*one, *other))}


def measures_of(cell: Cell) -> tuple[str, ...]:
    """Measures that a cell simulates."""
    found: tuple[str, ...] = import_module(f"neutral_data.{cell.family}").measures(cell)
    return found


def rows_of(
    cell: Cell, run: int, effect: float, settings: Settings, measures: Sequence[str] | None = None
) -> Iterator[tuple[str, Row]]:
    """Simulate one batch: every row of these measures (default: of all) that counts, with its name in the table."""
    module, family = import_module(f"neutral_data.{cell.family}"), find_family(cell.family)
    entries = [catalog.find("measures", name) for name in (measures_of(cell) if measures is None else measures)]
    by = module.by(cell) if hasattr(module, "by") else ()
    rng = np.random.default_rng([run, zlib.crc32(cell.key.encode()), int(effect)])
    effects = (effect,) if cell.kind == "estimate" else (effect, 0.0)
    answers = module.make(rng, cell, np.tile(effects, cell.batch))
    if cell.kind == "estimate":
        rows: Iterator[Row] = family.estimate(answers, entries, by, settings)
        yield from ((name, row) for row in rows if (name := module.label(row)))
        return
    for n in range(0, 2 * cell.batch, 2):
        compared = family.compare(answers, f"m{n}", f"m{n + 1}", entries, by, settings)
        yield from ((name, row) for row in compared if (name := module.label(row)))


def truths(cell: Cell) -> dict[str, float]:
    """True values of measures without a neutral value: what very large samples give."""
    unknown = [name for name in measures_of(cell) if catalog.find("measures", name).spec.neutral is None]
    if cell.kind == "compare" or not unknown:
        return {}
    is_long = "cluster" in cell.design or "nine" in cell.design
    large = replace(cell, n=MANY // 10 if is_long else MANY, batch=5)
    found: dict[str, list[float]] = {}
    for name, row in rows_of(large, 0, 0.0, Settings(1, CONFIDENCE, 0), unknown):
        found.setdefault(name, []).append(row.value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def truth_of(cell: Cell, name: str, row: Row, large: Mapping[str, float]) -> float:
    """Return the true value of a row of neutral data: 0 for differences, what the design implies, or neutral."""
    if isinstance(row, Difference):
        return 0.0
    module = import_module(f"neutral_data.{cell.family}")
    known = module.truth(cell, name) if hasattr(module, "truth") else None
    return float(known if known is not None else large.get(name, row.neutral))


def tallies(
    cell: Cell, simulations: range, truth: Mapping[str, float], measures: Sequence[str] | None = None
) -> dict[str, Tally]:
    """Simulate a part of a cell: neutral data, and a tenth as many data sets with an effect. Default: all measures."""
    found: dict[str, Tally] = {}
    for run in simulations[:: cell.batch]:
        for name, row in rows_of(cell, run, 0.0, Settings(RESAMPLES, CONFIDENCE, run), measures):
            found.setdefault(name, Tally()).add(row, truth_of(cell, name, row, truth))
    few = max(1, len(simulations) // WITH_EFFECT)
    small = replace(cell, batch=min(cell.batch, few))
    for run in simulations[:few][:: small.batch]:
        for name, row in rows_of(small, run, 1.0, Settings(RESAMPLES, CONFIDENCE, run), measures):
            found.setdefault(name, Tally()).add_effect(row)
    return found
