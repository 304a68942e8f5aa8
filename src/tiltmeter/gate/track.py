"""One number of a sequential check on its way to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.gate.decision import FAIL, UNDECIDED
from tiltmeter.gate.judge import compared
from tiltmeter.gate.rule import CHANGE, OWN, Rule
from tiltmeter.stats.direction import best_of, worsening
from tiltmeter.stats.sequential import confidence_sequence

Ends = tuple[float, float]


@dataclass
class Track:
    """One number of one model on its way to a verdict: the clusters so far, and the bounds of the confidence sequence."""

    rule: Rule
    model: str
    group: str
    members: frozenset[str]
    largest: float
    totals: list[tuple[float, float, float]] = field(default_factory=list)
    """Per cluster: values of the model, of the baseline, and how many of them."""
    items_read: int = 0
    missing: int = 0
    bounds: dict[tuple[str, float], Ends] = field(default_factory=dict)
    verdict: str = UNDECIDED
    interval: Ends = (np.nan, np.nan)

    def add(self, values: Sequence[tuple[float, float]]) -> None:
        """Add the items of one cluster: shares of the model and of the baseline."""
        known = [pair for pair in values if not np.isnan(pair).any()]
        self.items_read += len(values)
        self.missing += len(values) - len(known)
        if known:
            ours, theirs = np.sum(known, axis=0)
            self.totals.append((float(ours), float(theirs), float(len(known))))

    @property
    def values(self) -> Ends:
        """Shares of the model and of the baseline so far."""
        ours, theirs, n = np.sum(self.totals, axis=0) if self.totals else (np.nan, np.nan, np.nan)
        return float(ours / n), float(theirs / n)

    def look(self, together: int) -> None:
        """Decide if the confidence sequences do."""
        is_basis = len(self.totals) >= self.rule.least_n and self.missing <= self.rule.max_missing * self.items_read
        if self.verdict != UNDECIDED or not is_basis:
            return
        alpha = (1 - self.rule.confidence) / 2
        narrow, wide = self._ends(alpha), self._ends(alpha / together)
        self.verdict = compared(narrow, wide, self.rule.limits(self._best))
        self.interval = wide if self.verdict == FAIL else narrow

    @property
    def _measure(self) -> Any:
        return catalog.find("measures", self.rule.measure)

    @property
    def _best(self) -> float:
        return best_of(self._measure)

    def value(self) -> float:
        """The number in the terms of the rule."""
        whole = float(self._measure.spec.proportion)
        ours, theirs = (whole * share for share in self.values)
        if self.rule.quantity in OWN:
            return ours
        if self.rule.quantity == CHANGE:
            return ours - theirs
        return worsening(self._measure, (ours, theirs), (0.0, 0.0), ((ours, ours), (theirs, theirs)))[0]

    def _ends(self, alpha: float) -> Ends:
        """Bounds in the terms of the rule; alpha is for each side."""
        whole = float(self._measure.spec.proportion)
        ours, theirs, sizes = np.array(self.totals).T
        if self.rule.quantity in OWN:
            return self._bounds("model", ours, sizes, alpha, (0.0, whole))
        difference = self._bounds("difference", (sizes + ours - theirs) / 2, sizes, alpha, (-whole, whole))
        if self.rule.quantity == CHANGE:
            return difference
        ends = [self._bounds(name, part, sizes, alpha, (0.0, whole)) for name, part in (("model", ours), ("old", theirs))]
        first, second = self.values
        _, low, high = worsening(self._measure, (whole * first, whole * second), difference, (ends[0], ends[1]))
        return low, high

    def _bounds(self, name: str, totals: Any, sizes: Any, alpha: float, scale: Ends) -> Ends:
        """Bounds of a mean at this look and all before, from [0, 1] to the scale of the measure."""
        (found,) = confidence_sequence(totals, sizes, [len(sizes)], alpha, self.largest)
        before = self.bounds.get((name, alpha), (0.0, 1.0))
        low, high = self.bounds[name, alpha] = (max(found[0], before[0]), min(found[1], before[1]))
        return scale[0] + low * (scale[1] - scale[0]), scale[0] + high * (scale[1] - scale[0])
