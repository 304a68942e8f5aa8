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
MAX_MISSING = 0.05
"""The largest share of scores that may be missing, unless a rule says otherwise."""


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
    max_missing: float = MAX_MISSING
    name: str = ""

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise TiltmeterError(f"{self.text}: the confidence must be at least 50% and below 100%.")
        if self.least_n < 2:
            raise TiltmeterError(f"{self.text}: the least n must be at least 2.")
        if not 0 <= self.max_missing < 1:
            raise TiltmeterError(f"{self.text}: the share of missing scores must be at least 0% and below 100%.")
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
            return f"no worse than baseline by {_exact(self.high)}"
        if self.quantity == CHANGE:
            word = "rises" if math.isinf(self.low) else "falls" if math.isinf(self.high) else "moves"
            return f"{word} at most {_exact(self.high if word != 'falls' else -self.low)}"
        if math.isinf(self.low):
            return f"at most {_exact(self.high)}"
        low = _exact(self.low)
        return f"at least {low}" if math.isinf(self.high) else f"within {low}..{_exact(self.high)}"

    @property
    def text(self) -> str:
        """The rule as one line, which `parse` reads back."""
        model = f" for {self.model}" if self.model else ""
        needs = [f"n >= {self.least_n}"] if self.least_n != LEAST_N else []
        needs += [f"missing <= {_exact(100 * self.max_missing)}%"] if self.max_missing != MAX_MISSING else []
        evidence = f" with {' and '.join(needs)}" if needs else ""
        return f"{self.place} {self.condition}{model} at {_exact(100 * self.confidence)}%{evidence}"

    @property
    def title(self) -> str:
        """The rule's name where it has one, else its text."""
        return self.name or self.text


def _exact(number: float) -> str:
    """A number as short as it can be read back."""
    short = f"{number:g}"
    return short if math.isclose(float(short), number, rel_tol=1e-15) else repr(float(number))


def _quoted(name: str) -> str:
    """A name as it stands in brackets: in quotes where it holds a comma."""
    return f'"{name}"' if "," in name else name
