"""Verdicts of a gate: the gravest decides, and the number of items that a rule needs follows from its chances."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tiltmeter.gate.chances import chance_to_fail, chance_to_pass
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision, Finding, Ruling
from tiltmeter.gate.plan import items_for

LIMITS = (40.0, 60.0)
RULE: Any = SimpleNamespace(low=40.0, high=60.0, confidence=0.95, worst=True)


def ruling(verdict: str) -> Any:
    return SimpleNamespace(verdict=verdict, findings=())


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        ((PASS, PASS), PASS),
        ((PASS, FAIL, UNDECIDED), FAIL),
        ((PASS, UNDECIDED), UNDECIDED),
        ((FAIL, PASS), FAIL),
    ],
)
def test_the_gravest_ruling_decides(verdicts: tuple[str, ...], wanted: str) -> None:
    assert Decision(tuple(map(ruling, verdicts)), FAIL).verdict == wanted


def finding(group: str, value: float, verdict: str) -> Finding:
    return Finding(group, 10, value, value - 1, value + 1, value - 1, value + 1, 1.0, verdict, "", *LIMITS, 70.0, 0.9)


def test_of_several_groups_the_gravest_and_then_the_farthest_decides() -> None:
    groups = (finding("a", 50.0, PASS), finding("b", 63.0, FAIL), finding("c", 70.0, FAIL), finding("d", 90.0, UNDECIDED))
    assert Ruling(RULE, "m", groups).decisive.group == "c"


def test_chances_of_a_rule() -> None:
    from scipy.stats import norm

    assert chance_to_pass(LIMITS, 50.0, 2.0, 0.95) == pytest.approx(2 * norm.cdf(10 / 2 - 1.959964) - 1)
    assert chance_to_fail(LIMITS, 66.0, 2.0, 0.95) == pytest.approx(norm.cdf(6 / 2 - 1.959964), abs=1e-6)
    assert chance_to_fail(LIMITS, 34.0, 2.0, 0.95) == pytest.approx(chance_to_fail(LIMITS, 66.0, 2.0, 0.95))


def test_items_for_is_the_fewest_that_give_the_chance() -> None:
    assert items_for(lambda n: n / 100) == 80 and items_for(lambda n: 1.0) == 2 and items_for(lambda n: 0.5) is None
