"""The sentences follow from the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from tiltmeter.reporting.words import sentences


def rows(value: float, p: float, per_type: dict[str, tuple[float, float]]) -> pd.DataFrame:
    common = {"model": "m", "benchmark": "b", "scorer": "cps", "measure": "bias_score", "neutral": 50.0, "n": 200}
    table = [
        common | {"by": "all", "group": "all", "value": value, "low": value - 4, "high": value + 4, "p": p, "p_holm": None}
    ]
    for group, (found, holm) in per_type.items():
        table.append(
            common | {"by": "bias_type", "group": group, "value": found, "low": 1, "high": 99, "p": holm, "p_holm": holm}
        )
    return pd.DataFrame(table)


@pytest.mark.parametrize(
    ("value", "p", "said"),
    [
        (61.0, 0.0001, "a lean towards the stereotypes that is distinguishable from neutral (p < 0.001)"),
        (38.0, 0.002, "a lean away from the stereotypes that is distinguishable from neutral (p = 0.002)"),
        (53.0, 0.4, "not distinguishable from neutral (p = 0.400)"),
    ],
)
def test_the_verdict(value: float, p: float, said: str) -> None:
    (line,) = sentences(rows(value, p, {"age": (70.0, 0.01), "gender": (50.0, 0.9)}))
    assert said in line and f"{value} % of 200 pairs" in line
    assert "1 of 2 bias types can" in line and "age (70.0)" in line and "gender" not in line


def test_no_type_can_be_told() -> None:
    (line,) = sentences(rows(53.0, 0.4, {"age": (55.0, 1.0), "gender": (50.0, 0.9)}))
    assert "none of the 2 bias types can be told from neutral" in line
