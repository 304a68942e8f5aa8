"""The figure of differences: an axis for each unit, and n beside each row."""

from __future__ import annotations

import pandas as pd

from tiltmeter.reporting.difference_figure import draw_differences
from tiltmeter.stats.estimates import Difference, differences_table


def table(*measures: str) -> pd.DataFrame:
    return differences_table(
        Difference("b", "pairs", "s", name, "all", "all", model, "base", n=20 + at, difference=0.5, low=0.1, high=0.9)
        for at, name in enumerate(measures)
        for model in ("one", "two")
    )


def test_each_unit_has_an_axis_of_its_own() -> None:
    figure = draw_differences(table("bias_score", "ss", "stereotype_gap"))
    assert len(figure.axes) == 2
    rows = [[label.get_text() for label in axis.get_yticklabels()] for axis in figure.axes]
    assert [len(names) for names in rows] == [2, 1] and "22" in rows[1][0]
    assert len(draw_differences(table("bias_score")).axes) == 1
