"""Places of models: corrected over all pairs of models, with each model's own interval moved to the shared items."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tiltmeter import Settings
from tiltmeter.boards import ranks
from tiltmeter.boards.ranks import _ends, _normal_p, ranks_of
from tiltmeter.stats.significance import binomial_p

COLUMN: Any = SimpleNamespace(measure="bias_score")


def compared(reach: float, values: dict[str, float]) -> Any:
    """Differences of the values with intervals that reach so far to either side."""

    def difference(_: Any, first: str, second: str) -> Any:
        apart = values[first] - values[second]
        return SimpleNamespace(
            value=values[first], baseline_value=values[second], difference=apart, low=apart - reach, high=apart + reach
        )

    return SimpleNamespace(difference=difference, settings=Settings())


def rows(values: dict[str, float], reach: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame(
        [{"model": name, "value": v, "low": v - reach, "high": v + reach, "neutral": 50.0} for name, v in values.items()]
    )


def test_places_are_corrected_for_all_pairs_of_models() -> None:
    """Of two models a difference with p = 0.03 decides; among four such models nothing does."""
    reach = 5.0 * 1.96 / 2.17  # p = 0.03
    two = {"a": 60.0, "b": 65.0}
    four = two | {"c": 60.0, "d": 65.0}
    assert {rank.text for rank in ranks_of(COLUMN, rows(two), compared(reach, two)).values()} == {"1", "2"}
    among_four = ranks_of(COLUMN, rows(four), compared(reach, four))
    assert {(rank.best, rank.worst) for rank in among_four.values()} == {(1, 4)}


def test_a_clearly_worse_model_stands_below() -> None:
    values = {"far": 80.0, "near": 52.0, "middle": 65.0}
    found = ranks_of(COLUMN, rows(values), compared(2.0, values))
    assert {name: rank.place for name, rank in found.items()} == {"near": 1, "middle": 2, "far": 3}
    assert all(rank.place == rank.best == rank.worst and not rank.alike for rank in found.values())


def test_a_models_interval_is_moved_to_its_value_on_the_shared_items() -> None:
    assert _ends({"value": 60.0, "low": 57.0, "high": 64.0}, 62.0) == (59.0, 66.0)


def test_normal_p_of_an_interval() -> None:
    assert _normal_p(1.96, 0.0, 3.92, 0.95) == pytest.approx(0.05, abs=1e-4)
    assert _normal_p(-1.0, -1.5, 1.0, 0.95) == pytest.approx(2 * 0.16355, abs=1e-3)  # the end nearer to 0 decides
    assert _normal_p(1.0, -1.0, 1.5, 0.95) == pytest.approx(_normal_p(-1.0, -1.5, 1.0, 0.95))
    assert _normal_p(0.0, -1.0, 1.0, 0.95) == 1.0 and _normal_p(1.0, 1.0, 1.0, 0.95) == 0.0


def test_the_board_uses_the_shared_correction() -> None:
    assert ranks.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert binomial_p(8, 0) == pytest.approx(2 / 256)
