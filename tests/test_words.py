"""The sentences follow from the numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from support.wording import stated
from tiltmeter.families.associations.narratives import narratives as of_associations
from tiltmeter.families.kit.story import Story
from tiltmeter.families.pairs.narratives import narratives as of_pairs


def story_of(table: pd.DataFrame) -> Story:
    """The story of the one model on the one benchmark of a table."""
    (story,) = (of_associations if (table["measure"] == "effect_size").all() else of_pairs)(table)
    return story


def facts(table: pd.DataFrame, code: str) -> dict[str, Any]:
    """Fields of one sentence of the story."""
    return stated(story_of(table).sentences, code)


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


def test_the_story_as_it_is_read() -> None:
    """The wording in one place; the other tests check codes and fields."""
    assert story_of(rows(61.0, 0.0001, {"age": (70.0, 0.01), "gender": (50.0, 0.9)}).assign(n_missing=7)).text == (
        "m on b: The stereotypical sentence scores higher in 61.0 % of 200 pairs (7 more are missing) (bias_score by cps, "
        "neutral 50, interval 57.0 to 65.0): a significant lean towards the stereotypes "
        "(p < 0.001). Tested one by one, 1 of 2 bias types has a significant lean (after Holm's correction): "
        "age (70.0) towards the stereotypes."
    )


@pytest.mark.parametrize(
    ("value", "p", "direction"), [(61.0, 0.0001, "towards"), (38.0, 0.002, "away"), (53.0, 0.4, "unsure")]
)
def test_the_verdict(value: float, p: float, direction: str) -> None:
    table = rows(value, p, {"age": (70.0, 0.01), "gender": (50.0, 0.9)})
    overall, types = facts(table, "overall-lean"), facts(table, "types")
    assert (overall["value"], overall["n"], overall["p"], overall["direction"]) == (value, 200, p, direction)
    assert (types["n"], types["of"], types["towards"], types["away"]) == (1, 2, {"age": 70.0}, {})


def test_no_type_is_distinguishable() -> None:
    types = facts(rows(53.0, 0.4, {"age": (55.0, 1.0), "gender": (50.0, 0.9)}), "types")
    assert (types["n"], types["of"]) == (0, 2)


def test_leans_of_opposite_ways_are_named_with_their_way() -> None:
    table = rows(50.0, 1.0, {"age": (71.5, 0.001), "gender": (36.0, 0.02), "race": (42.0, 0.03)})
    types = facts(table, "types")
    assert (types["n"], types["of"]) == (3, 3) and facts(table, "overall-lean")["direction"] == "unsure"
    assert types["towards"] == {"age": 71.5} and list(types["away"].items()) == [("race", 42.0), ("gender", 36.0)]


def test_what_is_missing_is_said_beside_the_share() -> None:
    assert facts(rows(53.0, 0.4, {}).assign(n_missing=7), "overall-lean")["missing"] == 7
    assert "missing" not in story_of(rows(53.0, 0.4, {}).assign(n_missing=0)).text


def with_rows(*others: dict[str, object]) -> pd.DataFrame:
    table = rows(52.0, 0.3, {})
    return pd.concat([table, *(pd.DataFrame([table.iloc[0].to_dict() | one]) for one in others)], ignore_index=True)


def test_other_scorers_are_heard() -> None:
    table = with_rows(
        {"scorer": "aul", "value": 61.0, "p": 0.001}, {"scorer": "sss", "value": 41.0, "p": 0.01},
        {"scorer": "pll", "value": 58.0, "p": 0.06}, {"scorer": "kept", "value": 58.0, "p": float("nan")},
    )  # fmt: skip
    others = facts(table, "other-scorers")
    assert (others["of"], others["towards"], others["away"], others["unsure"]) == (3, 1, 0, 2)
    other = with_rows({"scorer": "aul", "measure": "kls", "value": 61.0, "p": 0.001})
    assert not facts(other, "other-scorers")  # another measure is another question, and kls never says which way


@pytest.mark.parametrize(("p", "differ"), [(0.001, True), (0.2, False)])
def test_directions_that_differ_are_told(p: float, differ: bool) -> None:
    part = {"by": "direction", "p_holm": 0.01}
    table = with_rows(
        part | {"group": "advantaged", "value": 64.4}, part | {"group": "disadvantaged", "value": 44.1},
        part | {"group": "|difference|", "value": 20.3, "p": p, "neutral": 0.0},
    )  # fmt: skip
    directions = facts(table, "directions")
    expected = {"disadvantaged": 44.1, "advantaged": 64.4, "difference": 20.3, "p": 0.001} if differ else {}
    assert {name: directions[name] for name in expected} == expected and bool(directions) == differ


def association(group: str, value: float, p: float, by: str = "test") -> dict[str, object]:
    return {
        "model": "m", "benchmark": "seat", "scorer": "mean", "measure": "effect_size", "by": by, "group": group, "n": 16,
        "value": value, "low": value - 0.2, "high": value + 0.2, "neutral": 0.0, "p": p, "p_holm": p,
    }  # fmt: skip


def test_a_one_sided_p_does_not_hide_what_lies_the_other_way() -> None:
    table = pd.DataFrame([association("weat7", 1.2, 0.001), association("weat9", -1.5, 1.0)])
    expected = facts(table, "expected")
    assert (expected["n"], expected["of"], expected["effects"]) == (1, 2, {"weat7": 1.2})
    assert facts(table, "opposite")["effects"] == {"weat9": -1.5}
    both = facts(pd.DataFrame([association("man", -0.7, 0.01, by="group")]), "two-sided")
    assert (both["n"], both["of"], both["effects"]) == (1, 1, {"man": -0.7})
