"""One number of a sequential check on its way to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED
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
    lacking: list[tuple[int, int]] = field(default_factory=list)
    """Per cluster: items with missing scores or a tie, and items."""
    bounds: dict[tuple[str, float], Ends] = field(default_factory=dict)
    verdict: str = UNDECIDED
    interval: Ends = (np.nan, np.nan)

    def add(self, values: Sequence[tuple[float, float, bool]]) -> None:
        """Add the items of one cluster: shares of the model and of the baseline, and whether one of them is a tie."""
        known = [(ours, theirs) for ours, theirs, _ in values if not np.isnan([ours, theirs]).any()]
        self.items_read += len(values)
        self.lacking.append((len(values) - len(known) + sum(tied for *_, tied in values), len(values)))
        if known:
            ours, theirs = np.sum(known, axis=0)
            self.totals.append((float(ours), float(theirs), float(len(known))))

    @property
    def missing(self) -> int:
        """Items without a score of the model or of the baseline, or with a tie, which shows no preference."""
        return sum(lacking for lacking, _ in self.lacking)

    @property
    def values(self) -> Ends:
        """Shares of the model and of the baseline so far."""
        ours, theirs, n = np.sum(self.totals, axis=0) if self.totals else (np.nan, np.nan, np.nan)
        return float(ours / n), float(theirs / n)

    def look(self, together: int) -> bool:
        """Decide if the confidence sequences do, and return True if they did.

        To pass, it must also be shown that no more scores are missing than the rule allows: the full gate fails such a rule.
        """
        is_basis = len(self.totals) >= self.rule.least_n and self.missing <= self.rule.max_missing * self.items_read
        if self.verdict != UNDECIDED or not is_basis:
            return False
        alpha = (1 - self.rule.confidence) / 2
        narrow, wide = self._ends(alpha), self._ends(alpha / together)
        verdict = compared(narrow, wide, self.rule.limits(self._best))
        if verdict == PASS and not self._is_complete(alpha):
            verdict = UNDECIDED
        self.verdict, self.interval = verdict, wide if verdict == FAIL else narrow
        return verdict != UNDECIDED

    def _is_complete(self, alpha: float) -> bool:
        """Return True if the share of missing scores is shown to lie within the rule's limit; alpha is for one side."""
        lacking, items = np.array(self.lacking, dtype=np.float64).T
        ((_, high),) = confidence_sequence(lacking, items, [len(self.lacking)], alpha, self.largest)
        open_items = len(self.members) - self.items_read
        return high <= self.rule.max_missing or self.missing + open_items <= self.rule.max_missing * len(self.members)

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
