"""Result of a check: every number that was compared with a limit, every rule, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tiltmeter.display import share_text
from tiltmeter.errors import UsageError
from tiltmeter.gate.rule import NO_EVIDENCE, Rule

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
GRAVITY = {PASS: 0, UNDECIDED: 1, FAIL: 2}
POWER = 0.8
"""The chance of detection that counts as adequate."""
ROUNDING = 1e-9
"""An end that equals a limit lies within it, although 42 of 60 items may come out as 70.00000000000001 %."""


@dataclass(frozen=True)
class Finding:
    """One number of one model against the limits of a rule.

    `low` and `high` are the interval at the rule's confidence, which must lie within the limits to pass; `wide_low` and
    `wide_high` the one corrected for all numbers that were compared with limits, which must lie wholly outside to fail.
    `noticed` is the distance beyond a limit at which a true value fails 80 times in 100.
    It is NaN where no value of the range fails so often. `power` is the chance that a true value at `breach` fails, which
    lies as far beyond the limit as the best value lies within it.
    """

    group: str
    n: int
    value: float
    low: float
    high: float
    wide_low: float
    wide_high: float
    noticed: float
    verdict: str
    reason: str
    limit_low: float
    limit_high: float
    """The limits that apply to this number; for a distance they lie around the best value."""
    breach: float
    power: float


@dataclass(frozen=True)
class Ruling:
    """One rule about one model. Of several groups the gravest decides."""

    rule: Rule
    model: str
    findings: tuple[Finding, ...]

    @property
    def decisive(self) -> Finding:
        """The finding that decides: the gravest, and of these the farthest out."""
        return max(self.findings, key=lambda finding: (GRAVITY[finding.verdict], self._beyond(finding)))

    def _beyond(self, finding: Finding) -> float:
        """Distance of a value beyond the nearer limit; below 0 within them."""
        return max(finding.value - finding.limit_high, finding.limit_low - finding.value)

    @property
    def verdict(self) -> str:
        """Pass only if every group passes."""
        return self.decisive.verdict

    @property
    def reason(self) -> str:
        """Why, in one sentence; of several groups also how many there are."""
        if not self.rule.worst:
            return self.decisive.reason
        same = sum(finding.verdict == self.verdict for finding in self.findings)
        return f"{self.decisive.group}: {self.decisive.reason} ({same} of {len(self.findings)} groups {said(self.verdict)})"

    @property
    def weakest(self) -> Finding | None:
        """The finding with the least power, where the rule passes without evidence against it and power is inadequate."""
        weak = [finding for finding in self.findings if finding.verdict == PASS and finding.power < POWER]
        if self.rule.form != NO_EVIDENCE or self.verdict != PASS or not weak:
            return None
        return min(weak, key=lambda finding: finding.power)

    @property
    def warning(self) -> str:
        """State that a pass is weak evidence; empty where it is not."""
        weakest = self.weakest
        if weakest is None:
            return ""
        group = "" if weakest.group == "all" else f" ({weakest.group})"
        what = "a model worse by" if self.rule.needs_baseline else "a true value of"
        return (
            f"{self.model}: {self.rule.title} passed with low power{group}: {what} {weakest.breach:g}, as far beyond the "
            f"limit as the best value lies within it, would fail only {share_text(weakest.power, 0)} of the time."
        )


@dataclass(frozen=True, repr=False)
class Decision:
    """All rulings about a run. `undecided` says what becomes of an undecided rule: fail or pass."""

    rulings: tuple[Ruling, ...]
    undecided: str
    baseline: str = ""
    seal: str = ""
    """The digest of the run, so that a stored decision is not taken for one about another run."""
    baseline_run: str = ""
    baseline_seal: str = ""
    """The folder (relative to the run's) and the digest of the baseline's run, where it is another run."""

    def __repr__(self) -> str:
        """Describe the decision in one line."""
        return f"<Decision {self.verdict}: {len(self.rulings):,} rulings>"

    def __bool__(self) -> bool:
        """Refuse to be taken for true or false: `if check(run, rules):` would release a model that failed."""
        raise no_truth()

    @property
    def numbers(self) -> int:
        """Number of comparisons with limits, for which intervals are corrected."""
        return sum(len(ruling.findings) for ruling in self.rulings)

    @property
    def verdict(self) -> str:
        """Fail if a rule fails; else undecided if one is undecided; else pass."""
        return max((ruling.verdict for ruling in self.rulings), key=GRAVITY.__getitem__)

    @property
    def passed(self) -> bool:
        """True if no rule blocks the release."""
        return not any(ruling.rule.stops(ruling.verdict, self.undecided) for ruling in self.rulings)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail."""
        return 0 if self.passed else 1

    @property
    def fate(self) -> str:
        """Return the effect of an undecided rule, as a verb."""
        return "passes" if self.undecided == PASS else "fails"

    @property
    def must_be_shown(self) -> bool:
        """True if an undecided rule blocks the release although undecided rules may pass."""
        return self.undecided == PASS and self.verdict == UNDECIDED and not self.passed

    def count(self, verdict: str) -> int:
        """Count the rulings with this verdict."""
        return sum(ruling.verdict == verdict for ruling in self.rulings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Rules that passed although a clear breach would probably have passed, too."""
        many = f" Failing is corrected for {self.numbers} numbers; fewer rules and groups have more power."
        return tuple(f"{one.warning}{many * (self.numbers > 1)}" for one in self.rulings if one.warning)

    @property
    def summary(self) -> str:
        """The whole in one sentence."""
        counts = ", ".join(f"{self.count(one)} {said(one)}" for one in (PASS, FAIL, UNDECIDED) if self.count(one))
        then = f" An undecided rule {self.fate} here." if self.verdict == UNDECIDED and not self.must_be_shown else ""
        then += " A rule 'shown to be' passes only if it is shown." if self.must_be_shown else ""
        return f"{'PASS' if self.passed else 'FAIL'}: of {_rules(len(self.rulings))}, {counts}.{then}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "verdict": self.verdict,
            "passed": self.passed,
            "exit_code": self.exit_code,
            "summary": self.summary,
            "undecided": self.undecided,
            "baseline": self.baseline,
            "numbers": self.numbers,
            "seal": self.seal,
            "baseline_run": self.baseline_run,
            "baseline_seal": self.baseline_seal,
            "warnings": list(self.warnings),
            "rules": [_ruling(ruling) for ruling in self.rulings],
        }


def _ruling(ruling: Ruling) -> dict[str, Any]:
    return {
        "rule": ruling.rule.text,
        "name": ruling.rule.name,
        "model": ruling.model,
        "verdict": ruling.verdict,
        "reason": ruling.reason,
        "confidence": ruling.rule.confidence,
        "min_n": ruling.rule.least_n,
        "max_missing": ruling.rule.max_missing,
        "stated": asdict(ruling.rule),
        "findings": [asdict(finding) for finding in ruling.findings],
    }


def no_truth() -> UsageError:
    """The error for a decision that is used as a truth value."""
    return UsageError(
        "A decision is neither true nor false. Use `.passed` or `.exit_code`.", code="wrong-type", name="passed"
    )


def said(verdict: str) -> str:
    """A verdict as a verb."""
    return {PASS: "passed", FAIL: "failed", UNDECIDED: "undecided"}[verdict]


def _rules(n: int) -> str:
    return "1 rule" if n == 1 else f"{n} rules"


def of_models(rulings: Sequence[Ruling]) -> dict[str, list[Ruling]]:
    """The rulings of each model, in order."""
    sorted_out: dict[str, list[Ruling]] = {}
    for ruling in rulings:
        sorted_out.setdefault(ruling.model, []).append(ruling)
    return sorted_out
