"""A group's share minus the mean of its domain: of two groups that is half of their difference, its interval too."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tiltmeter import Settings, catalog
from tiltmeter.families import find_family

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from neutral_data import generations
from neutral_data.kit import Cell


@pytest.mark.parametrize("design", ["two groups", "two groups, clusters of five"])
def test_of_two_groups_it_is_half_of_their_difference(design: str) -> None:
    cell = Cell("generations", "estimate", design, 30)
    answers = generations.make(np.random.default_rng(3), cell, np.zeros(1))
    rows = list(find_family("generations").estimate(answers, [catalog.find("measures", "negative_gap")], (), Settings(500)))
    (gap,) = (row for row in rows if row.group == "g000000 − g000001")
    (mean,) = (row for row in rows if row.group == "g000000 − mean of d")
    assert (mean.value, mean.low, mean.high) == pytest.approx((gap.value / 2, gap.low / 2, gap.high / 2))
    assert gap.low < gap.high


def test_a_group_without_a_negative_text_may_be_above_the_mean() -> None:
    """Draws of its texts are all alike, so they alone would put it below the mean for certain."""
    cell = Cell("generations", "estimate", "nine groups", 10)
    answers = generations.make(np.random.default_rng(0), cell, np.zeros(1))
    table = answers.tables["judgements"]
    table.loc[table["item"].isin(answers.items.loc[answers.items["target"] == "g000000", "item"]), "negative"] = 0.0
    rows = list(find_family("generations").estimate(answers, [catalog.find("measures", "negative_gap")], (), Settings(500)))
    (mean,) = (row for row in rows if row.group == "g000000 − mean of d")
    assert mean.value < 0 < mean.high


@pytest.mark.parametrize(
    ("design", "kept", "why"),
    [("two groups", 1, "one prompt"), ("two groups, clusters of five", 5, "one cluster")],
)
def test_of_a_single_unit_in_the_other_groups_the_note_says_so(design: str, kept: int, why: str) -> None:
    answers = generations.make(np.random.default_rng(3), Cell("generations", "estimate", design, 30), np.zeros(1))
    items = answers.items
    left_out = items.loc[items["target"] == "g000001", "item"].iloc[kept:]
    fewer = answers.mapped(lambda frame: frame[~frame["item"].isin(left_out)].reset_index(drop=True))
    rows = list(find_family("generations").estimate(fewer, [catalog.find("measures", "negative_gap")], (), Settings(500)))
    (mean,) = (row for row in rows if row.group == "g000000 − mean of d")
    assert np.isnan(mean.low) and why in mean.note
