"""One rule: which number, which limits, how sure. Its text and its fields say the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiltmeter.errors import InputError

VALUE, DISTANCE, CHANGE, WORSENING = "value", "distance", "change", "worsening"
"""Limited quantity: the model's own number, how far it lies from the best value, its difference from the baseline, or how
much worse than the baseline it is."""
OWN = (VALUE, DISTANCE)
"""Quantities of the model alone."""
LIMIT, NO_EVIDENCE, SHOWN = "limit", "no-evidence", "shown"
"""Forms of verdicts: `no-evidence` passes unless the interval lies wholly outside the limits, `shown`
passes only if it lies within them, and for `limit` the policy about undecided rules applies."""
FORMS = (LIMIT, NO_EVIDENCE, SHOWN)
CONFIDENCE = 0.95
LEAST_N = 30
"""Fewer items than this are no basis for a decision, unless a rule says otherwise: bootstrap intervals get too short."""
MAX_MISSING = 0.05
"""The largest share of scores that may be missing, unless a rule says otherwise."""
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.9999
"""Beyond the highest one, a rule that fails on evidence would need more of it than any run has."""


@dataclass(frozen=True)
class Rule:
    """A limit on one number, or on every group of a column (`worst`). Without a model it is about every model of the run.

    `pooled` rules read the estimates of groups that partial pooling gives (`stats/pooling.py`).
    """

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
    form: str = LIMIT
    pooled: bool = False

    def __post_init__(self) -> None:
        if not LEAST_CONFIDENCE <= self.confidence <= MOST_CONFIDENCE:
            self._refuse("confidence-out-of-range", "the confidence must be from 50% to 99.99%")
        if self.least_n < 2:
            self._refuse("min-n-out-of-range", "the least n must be at least 2")
        if not 0 <= self.max_missing < 1:
            self._refuse("missing-out-of-range", "the share of missing scores must be at least 0% and below 100%")
        if self.form not in FORMS:
            self._refuse("unknown-form", f"a form is {', '.join(FORMS)}, not '{self.form}'")
        if math.isinf(self.low) and math.isinf(self.high):
            self._refuse("no-limit", "a rule needs a limit")
        if self.quantity == DISTANCE and not self.high > 0:
            self._refuse("distance-not-positive", "the distance from the best value must be above 0")
        if math.isnan(self.low) or math.isnan(self.high) or self.low >= self.high:
            self._refuse("limits-reversed", "the lower limit must lie below the upper one")
        if self.worst and self.by == "all":
            self._refuse("worst-of-one", "the overall value has no worst group; name a column, such as bias_type")
        if self.needs_baseline and (self.low > 0 or self.high < 0):
            self._refuse("negative-step", "how far a model may move from the baseline must not be negative")
        if self.pooled and (self.by == "all" or self.needs_baseline):
            self._refuse(
                "pooling-needs-groups", "pooling is for the values of groups: name a group, or the worst of a column"
            )

    def _refuse(self, reason: str, why: str) -> None:
        code = {
            "unknown-form": "unknown-name",
            "pooling-needs-groups": "inapplicable-option",
            "worst-of-one": "inapplicable-option",
        }.get(reason, "out-of-range")
        raise InputError(f"{self.text}: {why}.", code=code, rule=self.text, reason=reason)

    @property
    def needs_baseline(self) -> bool:
        """True if the rule compares with a baseline."""
        return self.quantity not in OWN

    @property
    def place(self) -> str:
        """The number that the rule is about, as rules write it."""
        group = "" if self.worst or self.by == "all" else f",{self.by}={self.group}"
        number = f"{self.measure}[{_quoted(self.scorer)},{_quoted(self.benchmark)}{group}]"
        return f"worst {self.by} of {number}" if self.worst else number

    @property
    def condition(self) -> str:
        """The limits, as rules write them."""
        form = {LIMIT: "", NO_EVIDENCE: "no evidence of ", SHOWN: "shown to be "}.get(self.form, "")
        if self.quantity == DISTANCE:
            return f"{form}{'more than' if self.form == NO_EVIDENCE else 'within'} {_exact(self.high)}"
        if self.quantity == WORSENING:
            worse = f"worse than baseline by {_exact(self.high)}"
            return f"{form}being {worse}" if self.form == NO_EVIDENCE else f"no {worse}"
        if self.quantity == CHANGE:
            word = "rises" if math.isinf(self.low) else "falls" if math.isinf(self.high) else "moves"
            return f"{word} at most {_exact(self.high if word != 'falls' else -self.low)}"
        if self.form == NO_EVIDENCE:
            return f"{form}being outside {_exact(self.low)}..{_exact(self.high)}"
        if math.isinf(self.low):
            return f"{form}at most {_exact(self.high)}"
        low = _exact(self.low)
        return f"{form}at least {low}" if math.isinf(self.high) else f"{form}within {low}..{_exact(self.high)}"

    @property
    def text(self) -> str:
        """The rule as one line, which `parse` reads back."""
        model = f" for {self.model}" if self.model else ""
        needs = [f"n >= {self.least_n}"] if self.least_n != LEAST_N else []
        needs += [f"missing <= {_exact(100 * self.max_missing)}%"] if self.max_missing != MAX_MISSING else []
        needs += ["pooling"] if self.pooled else []
        evidence = f" with {' and '.join(needs)}" if needs else ""
        return f"{self.place} {self.condition}{model} at {_exact(100 * self.confidence)}%{evidence}"

    @property
    def title(self) -> str:
        """The rule's name where it has one, else its text."""
        return self.name or self.text

    def limits(self, best: float) -> tuple[float, float]:
        """Return the ends that a number must stay between; `best` is the value of a model without fault."""
        return (best - self.high, best + self.high) if self.quantity == DISTANCE else (self.low, self.high)

    def stops(self, verdict: str, policy: str) -> bool:
        """Return whether a verdict of this rule stops a release. `policy` is for undecided rules: fail or pass."""
        return verdict == "fail" or (verdict == "undecided" and (self.form == SHOWN or policy == "fail"))


def _exact(number: float) -> str:
    """A number as short as it can be read back."""
    short = f"{number:g}"
    return short if math.isclose(float(short), number, rel_tol=1e-15) else repr(float(number))


def _quoted(name: str) -> str:
    """A name as it stands in brackets: in quotes where it holds a comma."""
    return f'"{name}"' if "," in name else name
