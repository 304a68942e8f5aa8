"""rules.toml: rules for the next release, with limits that an audit against a baseline could decide."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from tiltmeter.audits.verdicts import Verdict
from tiltmeter.errors import TiltmeterError
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.rule import LEAST_N, MAX_MISSING, Rule
from tiltmeter.gate.sense import check_sense

HEAD = """# Rules for the next release, one for each test of a domain that decided in this audit.
# Each limit is the smallest difference that this audit could have detected, so that a release as biased as the one before
# passes most of the time. Choose smaller limits if smaller differences matter, with more items: tiltmeter check --plan.
"""


def proposed_rules(against: Sequence[Verdict]) -> list[Rule]:
    """Return a rule for each verdict against a baseline that the gate can check again."""
    return list(_rules(against))


def _rules(against: Sequence[Verdict]) -> Iterator[Rule]:
    for one in against:
        if one.n < LEAST_N or not one.detectable > 0:
            continue
        place = f"{one.measure}[{one.scorer},{one.benchmark},{one.by}={one.group}]"
        missing = one.n_missing / (one.n + one.n_missing)
        allowed = f" with missing <= {5 * math.ceil(20 * missing)}%" if missing > MAX_MISSING else ""
        try:
            rule = parse(f"{place} no worse than baseline by more than {rounded_up(one.detectable):g}{allowed}")
            check_sense(rule)
        except TiltmeterError:  # a name that the grammar cannot read, or a limit that no value can break
            continue
        yield rule


def rounded_up(value: float) -> float:
    """Round up to two digits.

    >>> rounded_up(23.4), rounded_up(0.1312), rounded_up(20.0)
    (24.0, 0.14, 20.0)
    """
    places = 1 - math.floor(math.log10(value))
    return float(round(math.ceil(round(value * 10.0**places, 9)) / 10.0**places, max(places, 0)))


def rules_text(rules: Sequence[Rule]) -> str:
    """Write rules as a file for `--rules`."""
    lines = "".join(f"  {json.dumps(rule.text, ensure_ascii=False)},\n" for rule in rules)
    return f"{HEAD}rules = [\n{lines}]\n"
