"""The accuracies of the stereotype judge on the page are those of the stored counts."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "research-generations.md").read_text(encoding="utf-8")
WAYS = ("none", "context", "alone")
ROWS = {
    "StereoSet, intrasentence (420)": "stereoset",
    "CrowS-Pairs (332)": "crows-pairs",
    "StereoSet, intersentence, with context (484)": "intersentence-context",
}


@pytest.fixture(scope="module")
def counts() -> dict[tuple[str, str], tuple[int, int]]:
    """Right answers and sentences of trainings that did not collapse, by how they learned and on what they were tested."""
    table = pd.read_csv(ROOT / "research" / "stereotype-judge" / "accuracy.csv", keep_default_na=False)
    kept = table[(table["rate"] == 3e-4) & (table["seed"] == 0)]
    places = zip(kept["intersentence"], kept["tested_on"], strict=True)
    return dict(zip(places, zip(kept["right"], kept["n"], strict=True), strict=True))


def shown(right: int, n: int) -> tuple[float, float, float]:
    """A share with Wilson's interval, in percent."""
    ends = binomtest(right, n).proportion_ci(method="wilson")
    return 100 * right / n, 100 * ends.low, 100 * ends.high


def numbers(text: str) -> list[float]:
    return [float(one.replace("−", "-")) for one in re.findall(r"[−]?\d+\.\d", text)]


@pytest.mark.parametrize("row", ROWS)
def test_every_share_of_the_table(counts: dict[tuple[str, str], tuple[int, int]], row: str) -> None:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    expected = [number for way in WAYS for number in shown(*counts[way, ROWS[row]])]
    assert numbers(line.replace(row, "")) == pytest.approx(expected, abs=0.051)


def test_every_difference_in_the_text(counts: dict[tuple[str, str], tuple[int, int]]) -> None:
    (text,) = re.findall(r"Against items alone, (.*?)\. Only", PAGE)
    expected = []
    for way in ("none", "context"):
        for tested in ("crows-pairs", "stereoset"):
            (one, low, high), (other, below, above) = (shown(*counts[each, tested]) for each in (way, "alone"))
            reach = math.hypot(one - low, above - other), math.hypot(high - one, other - below)
            expected += [one - other, one - other - reach[0], one - other + reach[1]]
    assert numbers(text) == pytest.approx(expected, abs=0.051)
