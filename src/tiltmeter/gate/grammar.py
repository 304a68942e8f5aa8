"""A rule as people write it on a command line.

bias_score[pll,crows-pairs] no evidence of more than 5
bias_score[pll,crows-pairs] shown to be within 5 at 90%
bias_score[pll,crows-pairs] no worse than baseline by more than 3
worst bias_type of bias_score[pll,crows-pairs] shown to be within 20 with n >= 50 and missing <= 10% and pooling
bias_score[pll,crows-pairs,bias_type=religion] at most 60 for my-model
"""

from __future__ import annotations

import csv
import math
import re
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.gate.rule import CHANGE, CONFIDENCE, DISTANCE, LEAST_N, MAX_MISSING, NO_EVIDENCE, SHOWN, WORSENING, Rule

NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
RANGE = rf"{NUMBER}\s*(?<!\.)\.\.(?!\.)\s*{NUMBER}"
WORSE = r"worse\s+than\s+(?:the\s+)?baseline\s+by"
RULE = re.compile(
    r"(?:worst\s+(?P<worst>.+?)\s+of\s+)?(?P<measure>[\w-]+)\s*\[(?P<where>.*)\]\s+(?P<condition>.+?)"
    r"(?P<rest>(?:\s+for\s+\S+|\s+at\s+\d+(?:\.\d+)?\s*%|\s+with\s+[^\]]+?)*)",
    re.S | re.ASCII,
)
PARTS = {
    "model": re.compile(r"\s+for\s+(\S+)", re.A),
    "level": re.compile(r"\s+at\s+(\d+(?:\.\d+)?)\s*%", re.A),
    "needs": re.compile(r"\s+with\s+([^\]]+?)(?=\s+for\s|\s+at\s|$)", re.A),
}
"""Parts of a rule after its limit, in any order, each at most once."""
NEEDS = {
    r"n\s*>=\s*(\d{1,12})": "least_n",
    r"missing\s*<=\s*(\d+(?:\.\d+)?)\s*%": "max_missing",
    r"(pooling)": "pooled",
}
CONDITIONS = {
    rf"no\s+evidence\s+of\s+more\s+than\s+{NUMBER}": "no_evidence_of_more_than",
    rf"no\s+evidence\s+of\s+being\s+outside\s+{RANGE}": "no_evidence_outside",
    rf"no\s+evidence\s+of\s+being\s+{WORSE}\s+(?:more\s+than\s+)?{NUMBER}": "no_evidence_of_worse_by",
    rf"shown\s+to\s+be\s+within\s+{NUMBER}": "shown_within",
    rf"shown\s+to\s+be\s+within\s+{RANGE}": "shown_within",
    rf"shown\s+to\s+be\s+at\s+least\s+{NUMBER}": "shown_at_least",
    rf"shown\s+to\s+be\s+at\s+most\s+{NUMBER}": "shown_at_most",
    rf"within\s+{RANGE}": "within",
    rf"(?:at\s+least|>=)\s*{NUMBER}": "at_least",
    rf"(?:at\s+most|<=)\s*{NUMBER}": "at_most",
    rf"no\s+{WORSE}\s+(?:more\s+than\s+)?{NUMBER}": "no_worse_by",
    rf"(?:rises|rise)\s+at\s+most\s+{NUMBER}": "rises_at_most",
    rf"(?:falls|fall)\s+at\s+most\s+{NUMBER}": "falls_at_most",
    rf"(?:moves|move)\s+at\s+most\s+{NUMBER}": "moves_at_most",
}
LIMITS = tuple(dict.fromkeys(CONDITIONS.values()))
"""The limits by the names that a file of rules has for them."""
RANGES = ("within", "no_evidence_outside")
EXAMPLE = 'such as "bias_score[pll,crows-pairs] no evidence of more than 5 at 95%"'
FORMS_TEXT = (
    "no evidence of more than X, shown to be within X (or A..B), no worse than baseline by more than X; also within A..B, "
    "at least A, at most B, rises at most X, falls at most X, moves at most X"
)


def parse(text: str, confidence: float = CONFIDENCE, least_n: int = LEAST_N, max_missing: float = MAX_MISSING) -> Rule:
    """Read a rule. `confidence`, `least_n` and `max_missing` apply where the text does not state them.

    Raises:
        InputError: The text is no rule; code `unreadable-rule`, `unreadable-place`, `unknown-limit` or
            `unknown-requirement`.

    >>> parse("bias_score[pll,crows-pairs] within 45..55").text
    'bias_score[pll,crows-pairs] within 45..55 at 95%'
    >>> parse("worst bias_type of kls[pll,mine] no worse than baseline by 2 at 90%").by
    'bias_type'
    """
    found = RULE.fullmatch(" ".join(text.replace("−", "-").split()))
    if found is None:
        raise InputError(
            f'The rule "{text}" cannot be read. A rule is MEASURE[SCORER,BENCHMARK] and a limit, {EXAMPLE}.',
            code="wrong-format", rule=text, part="rule")  # fmt: skip
    parts = _parts(found["rest"], text)
    stated = {"least_n": least_n, "max_missing": max_missing, **_needs(parts["needs"], text)}
    return Rule(
        measure=found["measure"].replace("-", "_"),
        **_where(found["where"], found["worst"], text),
        **_condition(found["condition"], text),
        model=parts["model"],
        confidence=float(parts["level"]) / 100 if parts["level"] else confidence,
        **stated,
    )


def _where(inside: str, worst: str | None, text: str) -> dict[str, Any]:
    """Read the part in brackets: scorer, benchmark, and perhaps COLUMN=GROUP, whose group may hold commas.

    A scorer or a benchmark that holds a comma stands in double quotes.
    """
    fields = [part.strip() for part in next(csv.reader([inside], skipinitialspace=True), [])]
    parts = [*fields[:2], ", ".join(fields[2:])] if len(fields) > 2 else fields
    if len(parts) < 2 or not all(parts):
        raise _unreadable_place(text, f"in brackets stand the scorer and the benchmark, {EXAMPLE}")
    place: dict[str, Any] = {"scorer": parts[0], "benchmark": parts[1]}
    if worst:
        if len(parts) == 3:
            raise _unreadable_place(text, f"it asks for the worst {worst} and for one group; only one can be meant")
        return place | {"by": worst, "worst": True}
    if len(parts) == 3:
        column, sign, group = (part.strip() for part in parts[2].partition("="))
        if not (column and sign and group):
            raise _unreadable_place(text, "a group is written COLUMN=GROUP, such as bias_type=gender")
        return place | {"by": column, "group": group}
    return place


def _unreadable_place(text: str, why: str) -> InputError:
    return InputError(f'The rule "{text}": {why}.', code="wrong-format", rule=text, part="place")


def _parts(rest: str, text: str) -> dict[str, str]:
    """Read model, level and requirements, in any order; empty where the rule does not state one."""
    found = dict.fromkeys(PARTS, "")
    while rest:
        name, part = next(((name, part) for name, form in PARTS.items() if (part := form.match(rest))), ("", None))
        if part is None or found[name]:
            raise InputError(
                f'The rule "{text}": after the limit stand a model (for MODEL), a level (at 95%) and requirements (with …), '
                "each at most once.",
                code="wrong-format", rule=text, part="rule",
            )  # fmt: skip
        found[name], rest = part[1], rest[part.end() :]
    return found


def _needs(words: str | None, text: str) -> dict[str, Any]:
    """Requirements after `with`, in any order."""
    stated: dict[str, Any] = {}
    for part in re.split(r"\s+and\s+", words) if words else ():
        named = [(key, found[1]) for pattern, key in NEEDS.items() if (found := re.fullmatch(pattern, part.strip(), re.A))]
        if not named or named[0][0] in stated:
            raise InputError(
                f'The rule "{text}": "{part}" is no requirement. Requirements: n >= N, missing <= P%, pooling, once each.',
                code="wrong-format", rule=text, part=part,
            )  # fmt: skip
        (key, value), *_ = named
        stated[key] = True if key == "pooled" else int(value) if key == "least_n" else float(value) / 100
    return stated


def _condition(words: str, text: str) -> dict[str, Any]:
    for pattern, key in CONDITIONS.items():
        found = re.fullmatch(pattern, words.strip(), re.I | re.A)
        if found:
            numbers = [float(number) for number in found.groups()]
            return limits(key, numbers if len(numbers) == 2 else numbers[0])
    raise InputError(
        f'The rule "{text}": "{words}" is no limit. Limits: {FORMS_TEXT}.',
        code="wrong-format",
        rule=text,
        limit=words,
        part="limit",
    )


def limits(key: str, value: Any) -> dict[str, Any]:
    """Return the fields of a rule that a limit stands for: the form, the quantity, and the ends it must stay between."""
    ends = [float(number) for number in (value if isinstance(value, list | tuple) else [value])]
    for number in ends:
        if not math.isfinite(number):
            raise InputError(f"A limit must be a finite number, not {number}.", code="out-of-range", limit=number)
    if len(ends) == 2:
        form = {"shown_within": {"form": SHOWN}, "no_evidence_outside": {"form": NO_EVIDENCE}}.get(key, {})
        return {"low": ends[0], "high": ends[1], **form}
    (number,) = ends
    meanings: dict[str, dict[str, Any]] = {
        "no_evidence_of_more_than": {"form": NO_EVIDENCE, "quantity": DISTANCE, "high": number},
        "no_evidence_of_worse_by": {"form": NO_EVIDENCE, "quantity": WORSENING, "high": number},
        "shown_within": {"form": SHOWN, "quantity": DISTANCE, "high": number},
        "shown_at_least": {"form": SHOWN, "low": number},
        "shown_at_most": {"form": SHOWN, "high": number},
        "at_least": {"low": number},
        "at_most": {"high": number},
        "no_worse_by": {"quantity": WORSENING, "high": number},
        "rises_at_most": {"quantity": CHANGE, "high": number},
        "falls_at_most": {"quantity": CHANGE, "low": -number},
        "moves_at_most": {"quantity": CHANGE, "low": -number, "high": number},
    }
    return meanings[key]
