"""The result of a sequential check: a verdict for every number, and how many items it took."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltmeter.display import share_text
from tiltmeter.gate.decision import FAIL, GRAVITY, PASS, UNDECIDED, no_truth, said
from tiltmeter.gate.rule import Rule

EARLY, ALL_ITEMS, OPEN = "early", "all items", "open"
"""Origin of a verdict: by a confidence sequence, by the full gate after the last item, or not at all."""


@dataclass(frozen=True)
class SequentialFinding:
    """One number: `items_read` of its `items` were read before the verdict. The interval is that of the last look."""

    rule: Rule
    model: str
    group: str
    items: int
    items_read: int
    value: float
    low: float
    high: float
    verdict: str
    stage: str

    @property
    def has_interval(self) -> bool:
        """False where too few items were read for a first look."""
        return math.isfinite(self.low + self.high)


@dataclass(frozen=True)
class SequentialDecision:
    """All numbers of all rules; `items_read` of `items` were read in the order that `seed` gives."""

    rules: tuple[Rule, ...]
    findings: tuple[SequentialFinding, ...]
    undecided: str
    baseline: str
    items_read: int
    items: int
    seed: int

    def __bool__(self) -> bool:
        """Refuse to be taken for true or false, as `Decision` does."""
        raise no_truth()

    def rulings(self) -> Iterator[tuple[Rule, str, tuple[SequentialFinding, ...]]]:
        """Yield each rule and model with its numbers."""
        places = dict.fromkeys((one.rule, one.model) for one in self.findings)
        for rule, model in places:
            yield rule, model, tuple(one for one in self.findings if (one.rule, one.model) == (rule, model))

    def verdicts(self) -> dict[tuple[str, str], str]:
        """Return the verdict of each rule (as text) and model: of several groups the gravest."""
        return {
            (rule.text, model): max((one.verdict for one in numbers), key=GRAVITY.__getitem__)
            for rule, model, numbers in self.rulings()
        }

    @property
    def verdict(self) -> str:
        """Fail if a rule fails; else undecided if one is undecided; else pass."""
        return max(self.verdicts().values(), key=GRAVITY.__getitem__)

    @property
    def passed(self) -> bool:
        """True if no rule blocks the release."""
        found = self.verdicts()
        return not any(rule.stops(found[rule.text, model], self.undecided) for rule, model, _ in self.rulings())

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail."""
        return 0 if self.passed else 1

    @property
    def is_decided(self) -> bool:
        """True if every rule got its verdict; False where the budget ended first."""
        found = self.verdicts()
        return not any(
            found[rule.text, model] == UNDECIDED and any(one.stage == OPEN for one in numbers)
            for rule, model, numbers in self.rulings()
        )

    @property
    def summary(self) -> str:
        """The decision in one sentence."""
        found = list(self.verdicts().values())
        counts = ", ".join(f"{found.count(one)} {said(one)}" for one in (PASS, FAIL, UNDECIDED) if one in found)
        share = f"{self.items_read:,} of {self.items:,} items ({share_text(self.items_read / max(self.items, 1), 0)})"
        ended = "" if self.is_decided else " The budget ended before every rule was decided."
        return f"{'PASS' if self.passed else 'FAIL'}: {counts} after {share}.{ended}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "verdict": self.verdict,
            "passed": self.passed,
            "exit_code": self.exit_code,
            "summary": self.summary,
            "sequential": True,
            "decided": self.is_decided,
            "asked": self.items_read,
            "items": self.items,
            "seed": self.seed,
            "baseline": self.baseline,
            "findings": [_row(finding) for finding in self.findings],
        }


def _row(finding: SequentialFinding) -> dict[str, Any]:
    facts = vars(finding) | {"rule": finding.rule.text}
    return {"asked" if name == "items_read" else name: value for name, value in facts.items()}
