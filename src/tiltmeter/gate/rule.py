"""One rule: which number, which limits, how sure. Its text and its fields say the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiltmeter.errors import TiltmeterError

VALUE, CHANGE, WORSENING = "value", "change", "worsening"
"""What is limited: the model's own number, its difference from the baseline, or how much worse than the baseline it is."""
CONFIDENCE = 0.95
LEAST_N = 30
"""Fewer items than this are no basis for a decision, unless a rule says otherwise: bootstrap intervals get too short."""


@dataclass(frozen=True)
class Rule:
    """A limit on one number, or on every group of a column (`worst`). Without a model it is about every model of the run."""

    measure: str
    scorer: str
    benchmark: str
    quantity: str = VALUE
    low: float = -math.inf
    high: float = math.inf
    by: str = "all"
    group: str = "all"
    worst: bool = False
    model: str = ""
    confidence: float = CONFIDENCE
    least_n: int = LEAST_N
    name: str = ""

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise TiltmeterError(f"{self.text}: the confidence must be at least 50% and below 100%.")
        if self.least_n < 2:
            raise TiltmeterError(f"{self.text}: the least n must be at least 2.")
        if math.isnan(self.low) or math.isnan(self.high) or self.low >= self.high:
            raise TiltmeterError(f"{self.text}: the lower limit must lie below the upper one.")
        if self.quantity != VALUE and (self.low > 0 or self.high < 0):
            raise TiltmeterError(f"{self.text}: how far a model may move from the baseline must not be negative.")

    @property
    def needs_baseline(self) -> bool:
        """Whether the rule compares with a baseline."""
        return self.quantity != VALUE

    @property
    def place(self) -> str:
        """The number that the rule is about, as rules write it."""
        group = "" if self.worst or self.by == "all" else f",{self.by}={self.group}"
        number = f"{self.measure}[{_quoted(self.scorer)},{_quoted(self.benchmark)}{group}]"
        return f"worst {self.by} of {number}" if self.worst else number

    @property
    def condition(self) -> str:
        """The limits, as rules write them."""
        if self.quantity == WORSENING:
            return f"no worse than baseline by {self.high:g}"
        if self.quantity == CHANGE:
            word = "rises" if math.isinf(self.low) else "falls" if math.isinf(self.high) else "moves"
            return f"{word} at most {self.high if word != 'falls' else -self.low:g}"
        if math.isinf(self.low):
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if math.isinf(self.high) else f"within {self.low:g}..{self.high:g}"

    @property
    def text(self) -> str:
        """The rule as one line, which `parse` reads back."""
        model = f" for {self.model}" if self.model else ""
        least = "" if self.least_n == LEAST_N else f" with n >= {self.least_n}"
        return f"{self.place} {self.condition}{model} at {100 * self.confidence:g}%{least}"

    @property
    def title(self) -> str:
        """The rule's name where it has one, else its text."""
        return self.name or self.text


def _quoted(name: str) -> str:
    """A name as it stands in brackets: in quotes where it holds a comma."""
    return f'"{name}"' if "," in name else name
