"""Check of rules against a run: pass, fail or undecided.

A number passes when its interval lies within the limits, fails when its interval, corrected for all numbers that are
compared with limits, lies wholly outside, and is undecided otherwise; the form "no evidence" passes unless it fails. Only
failing needs the correction: one wrong fail among many rules stops a good release, while a bad release passes only if every
rule passes wrongly (an intersection-union test; Berger, 1982, Technometrics 24).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tiltmeter import catalog
from tiltmeter.display import number_text, range_text, share_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.gate.decision import FAIL, PASS, POWER, ROUNDING, UNDECIDED, Decision, Finding, Ruling
from tiltmeter.gate.evidence import Evidence, OneRun, gather
from tiltmeter.gate.numbers import Number, corrected, numbers_of
from tiltmeter.gate.plan_place import Place, spread_of
from tiltmeter.gate.power import chances_at, smallest_breach
from tiltmeter.gate.rule import CHANGE, NO_EVIDENCE, OWN, SHOWN, WORSENING, Rule
from tiltmeter.gate.rules_file import RuleBook, read_rules
from tiltmeter.gate.sense import check_sense
from tiltmeter.runs import Run, load_run
from tiltmeter.stats.direction import distance, range_of
from tiltmeter.stats.significance import smallest_difference
from tiltmeter.storage.places import beside
from tiltmeter.storage.seals import run_digest


def check(
    run: OneRun,
    rules: RuleBook | Sequence[str] | str,
    baseline: OneRun | None = None,
    baseline_model: str | None = None,
) -> Decision:
    """Check a run against rules. Needs no model.

    Args:
        run: A run or its folder.
        rules: Texts of rules, or the result of `read_rules`.
        baseline: The run to compare with, for rules that compare.
        baseline_model: The model of `baseline`, or of `run` itself, if there are several.

    Returns:
        The decision: a verdict for every rule and model, and an exit code.

    Raises:
        InputError: A rule cannot be read, makes no sense, or names something that the run does not have.
        UsageError: A rule needs a baseline and there is none, or the other way round.
        RunError: The runs are not comparable, or a number has no interval.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     run = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        ...     tiltmeter.check(run, "bias_score[sss,plumb-pairs] within 45..55").exit_code
        1
    """
    book = rules if isinstance(rules, RuleBook) else read_rules([rules] if isinstance(rules, str) else rules)
    for rule in book.rules:
        check_sense(rule)
    refuse_baseline(book.rules, has_baseline=baseline is not None or baseline_model is not None)
    loaded = run if isinstance(run, Run) else load_run(run)
    other = load_run(baseline) if isinstance(baseline, str | Path) else baseline
    evidence = gather(loaded, other, baseline_model)
    decision = replace(judge(evidence, book), seal=run_digest(loaded.manifest))
    if other is None:
        return decision
    return replace(decision, baseline_run=beside(other.folder, loaded.folder), baseline_seal=run_digest(other.manifest))


def refuse_baseline(rules: Sequence[Rule], *, has_baseline: bool) -> None:
    """Refuse rules that compare without a baseline, and a baseline that no rule compares with."""
    comparing = [rule for rule in rules if rule.needs_baseline]
    if comparing and not has_baseline:
        message = f"{comparing[0].text}: this rule needs a baseline. Give --baseline RUN, or --baseline-model NAME."
        raise UsageError(message, code="missing-value", rule=comparing[0].text, option="--baseline")
    if has_baseline and not comparing:
        raise UsageError(
            "A baseline is given, and no rule compares with one.", code="inapplicable-option", option="--baseline"
        )


class Compared(Protocol):
    """Models that rules are about; one of them may be the baseline under another name."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models without the baseline."""

    def is_baseline(self, model: str) -> bool:
        """Return True if a model is the baseline under another name."""


def refuse_itself(evidence: Compared, rules: Sequence[Rule]) -> None:
    """Refuse to compare a model with itself: it would pass every such rule."""
    for rule in (rule for rule in rules if rule.needs_baseline):
        for model in [rule.model] if rule.model else evidence.models:
            if evidence.is_baseline(model):
                raise UsageError(
                    f"{rule.text}: {model} and its baseline have the same weights or gave the same answers, so a model is "
                    "compared with itself. "
                    "Give the run of another model as --baseline, or name the model that the rule is for.",
                    code="not-comparable", rule=rule.text, model=model,
                )  # fmt: skip


def judge(evidence: Evidence, book: RuleBook) -> Decision:
    """The decision about evidence that was gathered."""
    evidence = evidence.for_rules(book.rules)
    refuse_itself(evidence, book.rules)
    narrow = numbers_of(evidence, book.rules)
    together = sum(map(len, narrow.values()))
    wide = numbers_of(evidence, book.rules, together) if together > 1 else narrow
    if book.undecided == PASS:
        _refuse_undecidable(narrow)
    rulings = tuple(
        Ruling(
            rule,
            model,
            tuple(_finding(rule, *pair, together) for pair in zip(numbers, wide[rule, model], strict=True)),
        )
        for (rule, model), numbers in narrow.items()
    )
    return Decision(rulings, book.undecided, evidence.baseline)


def _refuse_undecidable(numbers: Mapping[tuple[Rule, str], Sequence[Number]]) -> None:
    """Refuse a rule that no model can fail, since it requires more items than there are and what is undecided passes."""
    for (rule, model), found in numbers.items():
        most = max(number.units for number in found)
        if rule.form != SHOWN and most < rule.least_n:
            raise RunError(
                f"{rule.text}: it requires {rule.least_n:,} items and {rule.benchmark} has {most:,}, so no verdict is "
                f"possible, and what is undecided would pass. Lower n, or let undecided rules fail.",
                code="too-few", rule=rule.text, model=model, n=most, required=rule.least_n,
            )  # fmt: skip


def _finding(rule: Rule, narrow: Number, wide: Number, together: int) -> Finding:
    margin = detectable_breach(wide, corrected(rule.confidence, together))
    limits = rule.limits(narrow.best)
    verdict, why = verdict_of(rule, narrow, wide, limits)
    if verdict == PASS and rule.form == NO_EVIDENCE and not can_fail(rule, wide, limits, margin, together):
        verdict, why = UNDECIDED, f"comes from {_units(wide)}, too few for any result to be evidence of a breach"
    place = Place(rule, catalog.find("measures", rule.measure), narrow.group, narrow.n, narrow)
    spread = spread_of(place, None)[0] or 0.0
    noticed, power = smallest_breach(place, spread, together), chances_at(place, place.breach, spread, together).fails
    places = decimals_of(rule.measure, narrow.value, narrow.low, narrow.high)
    detectable = f" {_detectable(place, noticed, places)}" if verdict != FAIL else ""
    return Finding(
        narrow.group, narrow.n, narrow.value, narrow.low, narrow.high, wide.low, wide.high, noticed, verdict,
        f"{_text(rule, narrow if verdict != FAIL else wide, places)} {why}.{detectable}", *limits, place.breach, power,
    )  # fmt: skip


def _detectable(place: Place, noticed: float, places: int) -> str:
    """State which true values fail 80 % of the time."""
    rule, upward = place.rule, place.limit == place.rule.limits(place.best)[1]
    if math.isnan(noticed):
        return f"No true value would fail {share_text(POWER, 0)} of the time."
    end = place.limit + noticed if upward else place.limit - noticed
    far, side = number_text(end, places), "more" if upward else "less"
    which = f"true value of {far} or {side}"
    middles = (sum(rule.limits(place.best)), sum(range_of(place.measure)))
    if rule.quantity in OWN and middles == (2 * place.best, 2 * place.best):
        other = number_text(2 * place.best - end, places)
        which = f"true value of {far} or {side} (or of {other} or {'less' if upward else 'more'})"
    elif rule.quantity == WORSENING:
        which = f"model worse by {far} or more"
    elif rule.quantity == CHANGE:
        which = f"change of {far} or {side}"
    return f"A {which} would fail {share_text(POWER, 0)} of the time."


def verdict_of(rule: Rule, narrow: Number, wide: Number, limits: tuple[float, float]) -> tuple[str, str]:
    """Return the verdict about a number and why; `wide` has the interval that is corrected for all numbers."""
    low, high = limits
    if narrow.missing > rule.max_missing:
        return FAIL, f"lacks {share_text(narrow.missing)} of the scores; {_allowed(rule, narrow.missing)}{_reasons(narrow)}"
    if narrow.missing + narrow.tied > rule.max_missing:
        share = share_text(narrow.tied)
        return (
            FAIL,
            f"has two equal scores in {share} of the items; {_allowed(rule, narrow.missing + narrow.tied)}",
        )
    if narrow.units < rule.least_n:
        return UNDECIDED, f"comes from {_units(narrow)}, and the rule requires at least {rule.least_n:,}"
    verdict = compared((narrow.low, narrow.high), (wide.low, wide.high), limits)
    if verdict == FAIL:
        return FAIL, f"lies wholly above {high:g}" if wide.low > high else f"lies wholly below {low:g}"
    if verdict == PASS:
        return PASS, f"lies within the limit{'s' * math.isfinite(low + high)} (n = {narrow.n:,})"
    over = [limit for limit in limits if narrow.low <= limit <= narrow.high]
    across = f"reaches across {' and '.join(f'{limit:g}' for limit in over)} (n = {narrow.n:,})"
    beyond = f"lies beyond the limit, but not significantly after correction (n = {narrow.n:,})"
    why = across if over else beyond  # beyond: not once the interval is corrected
    return (PASS, f"{why}, so it is not shown to break the rule") if rule.form == NO_EVIDENCE else (UNDECIDED, why)


def _allowed(rule: Rule, share: float) -> str:
    """State what share of scores may be missing or tied, and how a rule allows as many as there are."""
    enough = math.ceil(100 * share)
    how = f' (to allow them, add "with missing <= {enough}%")' if enough < 100 else ""
    return f"at most {100 * rule.max_missing:g}% may be missing or tied{how}"


def _reasons(number: Number) -> str:
    """State why scores are missing, as far as answers say it."""
    return f": {number.reasons}" if number.reasons else ""


def can_fail(rule: Rule, number: Number, limits: tuple[float, float], margin: float, together: int) -> bool:
    """Return True if some result of so many items would be evidence of a breach. `margin`: the detectable breach.

    For a share the most extreme result is that all items agree, which has an exact interval.
    """
    measure = catalog.find("measures", rule.measure)
    low, high = range_of(measure)
    whole = measure.spec.proportion
    if rule.quantity in OWN and whole is not None:
        end = ((1 - corrected(rule.confidence, together)) / 2) ** (1 / max(1, number.units))
        return bool(whole * end > limits[1] or whole * (1 - end) < limits[0])
    if rule.quantity == WORSENING:
        farthest = max(distance(measure, end) for end in (low, high))
        return margin <= farthest - distance(measure, number.baseline) - rule.high
    origin = 0.0 if rule.quantity in OWN else number.baseline
    return any(margin <= room for room in (high - origin - limits[1], limits[0] - (low - origin)))


def compared(narrow: tuple[float, float], wide: tuple[float, float], limits: tuple[float, float]) -> str:
    """Compare an interval, and the one that is corrected for all numbers, with limits: pass, fail or undecided."""
    low, high = limits[0] - ROUNDING, limits[1] + ROUNDING
    if wide[0] > high or wide[1] < low:
        return FAIL
    return PASS if narrow[0] >= low and narrow[1] <= high else UNDECIDED


def _units(number: Number) -> str:
    return f"{number.units:,} clusters of {number.n:,} items" if number.units < number.n else f"{number.n:,} items"


def _text(rule: Rule, number: Number, places: int) -> str:
    signed = rule.quantity not in OWN
    value, interval = (
        number_text(number.value, places, signed=signed),
        range_text(number.low, number.high, places, signed=signed),
    )
    what = "" if rule.quantity in OWN else "worse by " if rule.quantity == WORSENING else "a change of "
    pooled = "pooled " if rule.pooled else ""
    return " ".join(filter(None, [f"{pooled}{what}{value}", interval]))


def detectable_breach(number: Number, confidence: float) -> float:
    """Distance beyond a limit at which a value must lie for the interval to lie wholly beyond it 80 times in 100."""
    # An interval reaches as far as a difference that is detected half of the time.
    standard_error = (number.high - number.low) / (2 * smallest_difference(1.0, confidence, power=0.5))
    return smallest_difference(standard_error, confidence, POWER)
