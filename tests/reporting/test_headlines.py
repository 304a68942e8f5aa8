"""The number of a headline has its interval, with a gauge or without."""

from __future__ import annotations

from typing import Any

import pytest

from tiltmeter.families.kit.story import Gauge, Story
from tiltmeter.reporting.headlines import interval_of

GAP = {"value": 0.443, "low": 0.3124, "high": 0.5746}


@pytest.mark.parametrize(
    ("number", "extra", "interval"),
    [
        ("+0.44", {"head": GAP}, "95 % CI +0.31 to +0.57"),
        ("−3.1", {"head": {"value": -3.1, "low": -5.0, "high": 0.25}}, "95 % CI −5.0 to +0.2"),
        ("57.0 %", {"gauge": Gauge(57.0, 53.3, 60.7, 50.0, ""), "head": GAP}, "95 % CI 53.3–60.7"),
        ("12.0 %", {"head": GAP}, ""),  # a rate, and the difference that it is part of
        ("3 of 9", {}, ""),
        ("", {"head": GAP}, ""),
        ("+0.44", {"head": GAP | {"low": float("nan")}}, ""),
    ],
)
def test_a_number_has_the_interval_of_its_estimate(number: str, extra: dict[str, Any], interval: str) -> None:
    assert interval_of(Story("m", "b", "Leans", (), number=number, **extra)) == interval
