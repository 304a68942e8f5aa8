"""The sentences follow from the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from tiltmeter.families.associations.narratives import narratives as of_associations
from tiltmeter.families.pairs.narratives import narratives as of_pairs


def said(table: pd.DataFrame) -> str:
    """What is said of the one model on the one benchmark of a table, in one line."""
    (story,) = (of_associations if (table["measure"] == "effect_size").all() else of_pairs)(table)
    return story.text


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
    ("value", "p", "verdict"),
    [
        (61.0, 0.0001, "a lean towards the stereotypes that is distinguishable from neutral (p < 0.001)"),
        (38.0, 0.002, "a lean away from the stereotypes that is distinguishable from neutral (p = 0.002)"),
        (53.0, 0.4, "not distinguishable from neutral (p = 0.400)"),
    ],
)
def test_the_verdict(value: float, p: float, verdict: str) -> None:
    line = said(rows(value, p, {"age": (70.0, 0.01), "gender": (50.0, 0.9)}))
    assert line.startswith("m on b: The stereotypical sentence scores higher in ")
    assert verdict in line and f"{value} % of 200 pairs" in line
    assert "1 of 2 bias types is distinguishable from neutral" in line and "gender" not in line
    assert line.endswith("age (70.0) towards the stereotypes.")


def test_no_type_is_distinguishable() -> None:
    line = said(rows(53.0, 0.4, {"age": (55.0, 1.0), "gender": (50.0, 0.9)}))
    assert "none of the 2 bias types is distinguishable from neutral" in line


def test_leans_of_opposite_ways_are_named_with_their_way() -> None:
    line = said(rows(50.0, 1.0, {"age": (71.5, 0.001), "gender": (36.0, 0.02), "race": (42.0, 0.03)}))
    assert "3 of 3 bias types are distinguishable" in line and "not distinguishable from neutral (p = 1.000)" in line
    assert line.endswith("age (71.5) towards the stereotypes; race (42.0), gender (36.0) away from the stereotypes.")


def test_what_is_missing_is_said_beside_the_share() -> None:
    line = said(rows(53.0, 0.4, {}).assign(n_missing=7))
    assert "53.0 % of 200 pairs (7 more are missing)" in line
    line = said(rows(53.0, 0.4, {}).assign(n_missing=0))
    assert "missing" not in line


def with_rows(*others: dict[str, object]) -> pd.DataFrame:
    table = rows(52.0, 0.3, {})
    return pd.concat([table, *(pd.DataFrame([table.iloc[0].to_dict() | one]) for one in others)], ignore_index=True)


def test_other_scorers_are_heard() -> None:
    line = said(
        with_rows(
            {"scorer": "aul", "value": 61.0, "p": 0.001}, {"scorer": "sss", "value": 41.0, "p": 0.01},
            {"scorer": "pll", "value": 58.0, "p": 0.06}, {"scorer": "kept", "value": 58.0, "p": float("nan")},
        )
    )  # fmt: skip
    ways = "1 leans towards the stereotypes, 2 are not distinguishable from neutral"
    assert line.split("Of 3 other scorers, ")[1].startswith(f"{ways} (secondary tests, Holm-corrected).")
    line = said(with_rows({"scorer": "aul", "measure": "kls", "value": 61.0, "p": 0.001}))
    assert "other scorer" not in line  # another measure is another question, and kls never says which way


@pytest.mark.parametrize(("p", "differ"), [(0.001, True), (0.2, False)])
def test_directions_that_differ_are_told(p: float, differ: bool) -> None:
    part = {"by": "direction", "p_holm": 0.01}
    line = said(
        with_rows(
            part | {"group": "advantaged", "value": 64.4}, part | {"group": "disadvantaged", "value": 44.1},
            part | {"group": "|difference|", "value": 20.3, "p": p, "neutral": 0.0},
        )
    )  # fmt: skip
    told = "about disadvantaged groups are preferred in 44.1 % of pairs, about advantaged ones in 64.4 %"
    assert (f"{told}: a difference of 20.3 (p = 0.001)." in line) == differ


def association(group: str, value: float, p: float, by: str = "test") -> dict[str, object]:
    return {
        "model": "m", "benchmark": "seat", "scorer": "mean", "measure": "effect_size", "by": by, "group": group, "n": 16,
        "value": value, "low": value - 0.2, "high": value + 0.2, "neutral": 0.0, "p": p, "p_holm": p,
    }  # fmt: skip


def test_a_one_sided_p_does_not_hide_what_lies_the_other_way() -> None:
    line = said(pd.DataFrame([association("weat7", 1.2, 0.001), association("weat9", -1.5, 1.0)]))
    assert "1 of 2 tests find the association they look for (one-sided p, after Holm's correction): weat7 (+1.20)." in line
    assert "In the opposite direction, with an interval entirely below 0: weat9 (-1.50)." in line
    line = said(pd.DataFrame([association("man", -0.7, 0.01, by="group")]))
    assert "1 of 1 associations are distinguishable from 0 (p after Holm's correction): man (-0.70)." in line
