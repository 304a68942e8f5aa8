"""A rule as people write it on a command line.

bias_score[aul,crows-pairs] within 45..55 at 95%
bias_score[aul,crows-pairs,bias_type=gender] at most 60 for my-model
worst bias_type of bias_score[aul,crows-pairs] within 35..65 with n >= 50 and missing <= 10%
icat[stereoset_masked,stereoset] no worse than baseline by 2 at 90%
"""

from __future__ import annotations

import csv
import math
import re
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.rule import CHANGE, CONFIDENCE, LEAST_N, MAX_MISSING, WORSENING, Rule

NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
RULE = re.compile(
    r"(?:worst\s+(?P<worst>.+?)\s+of\s+)?(?P<measure>[\w-]+)\s*\[(?P<where>.*)\]\s+(?P<condition>.+?)"
    r"(?:\s+for\s+(?P<model>\S+))?(?:\s+at\s+(?P<level>\d+(?:\.\d+)?)\s*%)?(?:\s+with\s+n\s*>=\s*(?P<least>\d+))?"
    r"(?:\s+(?(least)and|with)\s+missing\s*<=\s*(?P<missing>\d+(?:\.\d+)?)\s*%)?",
    re.S,
)
CONDITIONS = {
    rf"within\s+{NUMBER}\s*(?<!\.)\.\.(?!\.)\s*{NUMBER}": "within",
    rf"(?:at\s+least|>=)\s*{NUMBER}": "at_least",
    rf"(?:at\s+most|<=)\s*{NUMBER}": "at_most",
    rf"no\s+worse\s+than\s+(?:the\s+)?baseline\s+by\s+(?:more\s+than\s+)?{NUMBER}": "no_worse_by",
    rf"(?:rises|rise)\s+at\s+most\s+{NUMBER}": "rises_at_most",
    rf"(?:falls|fall)\s+at\s+most\s+{NUMBER}": "falls_at_most",
    rf"(?:moves|move)\s+at\s+most\s+{NUMBER}": "moves_at_most",
}
EXAMPLE = 'such as "bias_score[aul,crows-pairs] within 45..55 at 95%"'


def parse(text: str, confidence: float = CONFIDENCE, least_n: int = LEAST_N, max_missing: float = MAX_MISSING) -> Rule:
    """Read a rule. `confidence`, `least_n` and `max_missing` apply where the text does not state them.

    >>> parse("bias_score[aul,crows-pairs] within 45..55").text
    'bias_score[aul,crows-pairs] within 45..55 at 95%'
    >>> parse("worst bias_type of kls[aul,mine] no worse than baseline by 2 at 90%").by
    'bias_type'
    """
    found = RULE.fullmatch(" ".join(text.replace("−", "-").split()))
    if found is None:
        raise TiltmeterError(
            f'The rule "{text}" cannot be read. A rule is MEASURE[SCORER,BENCHMARK] and a limit, {EXAMPLE}.'
        )
    level = float(found["level"]) / 100 if found["level"] else confidence
    return Rule(
        measure=found["measure"].replace("-", "_"),
        **_where(found["where"], found["worst"], text),
        **_condition(found["condition"], text),
        model=found["model"] or "",
        confidence=level,
        least_n=int(found["least"]) if found["least"] else least_n,
        max_missing=float(found["missing"]) / 100 if found["missing"] else max_missing,
    )


def _where(inside: str, worst: str | None, text: str) -> dict[str, Any]:
    """What stands in the brackets: scorer, benchmark, and perhaps COLUMN=GROUP, whose group may hold commas.

    A scorer or a benchmark that holds a comma stands in double quotes.
    """
    fields = [part.strip() for part in next(csv.reader([inside], skipinitialspace=True), [])]
    parts = [*fields[:2], ", ".join(fields[2:])] if len(fields) > 2 else fields
    if len(parts) < 2 or not all(parts):
        raise TiltmeterError(f'The rule "{text}": in brackets stand the scorer and the benchmark, {EXAMPLE}.')
    place: dict[str, Any] = {"scorer": parts[0], "benchmark": parts[1]}
    if worst:
        if len(parts) == 3:
            raise TiltmeterError(f'The rule "{text}" asks for the worst {worst} and for one group; only one can be meant.')
        return place | {"by": worst, "worst": True}
    if len(parts) == 3:
        column, sign, group = (part.strip() for part in parts[2].partition("="))
        if not (column and sign and group):
            raise TiltmeterError(f'The rule "{text}": a group is written COLUMN=GROUP, such as bias_type=gender.')
        return place | {"by": column, "group": group}
    return place


def _condition(words: str, text: str) -> dict[str, Any]:
    for pattern, key in CONDITIONS.items():
        found = re.fullmatch(pattern, words.strip(), re.I)
        if found:
            numbers = [float(number) for number in found.groups()]
            return limits(key, numbers if key == "within" else numbers[0])
    raise TiltmeterError(
        f'The rule "{text}": "{words}" is no limit. Limits: within A..B, at least A, at most B, no worse than baseline '
        "by X, rises at most X, falls at most X, moves at most X."
    )


def limits(key: str, given: Any) -> dict[str, Any]:
    """What a limit means: the quantity, and the ends it must stay between."""
    for number in given if key == "within" else [given]:
        if not math.isfinite(number):
            raise TiltmeterError(f"A limit must be a finite number, not {number}.")
    if key == "within":
        return {"low": float(given[0]), "high": float(given[1])}
    number = float(given)
    meanings: dict[str, dict[str, Any]] = {
        "at_least": {"low": number},
        "at_most": {"high": number},
        "no_worse_by": {"quantity": WORSENING, "high": number},
        "rises_at_most": {"quantity": CHANGE, "high": number},
        "falls_at_most": {"quantity": CHANGE, "low": -number},
        "moves_at_most": {"quantity": CHANGE, "low": -number, "high": number},
    }
    return meanings[key]
