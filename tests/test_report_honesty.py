"""The report says what the numbers support, whatever a run consists of, and nothing about the machine that made it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from report_material import explorer, made_up_run
from test_words import rows, with_rows
from tiltmeter import estimate
from tiltmeter.reporting.html import gather, page
from tiltmeter.reporting.html.drawing import Scale
from tiltmeter.reporting.html.headlines import _compared, _verdict
from tiltmeter.reporting.html.warning import power
from tiltmeter.reporting.words import headline
from tiltmeter.run_folders import write_estimates
from tiltmeter.runs import Run
from tiltmeter.store import write_json


def section(text: str, name: str) -> str:
    """The words of a section, without its marks."""
    found = re.search(rf'<section id="{name}">(.*?)</section>', text, re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""


def with_measures(made: Run, *measures: str) -> Path:
    """The same run, with other measures."""
    write_estimates(made.folder, estimate(made.scores, list(measures), resamples=100))
    return made.folder


@pytest.mark.parametrize(
    ("value", "p", "types", "said"),
    [
        (60.0, 0.01, {"a": (70.0, 0.9), "b": (50.0, 0.9)}, ("towards", "Leans towards the stereotypes")),
        (40.0, 0.01, {"a": (40.0, 0.9), "b": (40.0, 0.9)}, ("away", "Leans away from the stereotypes")),
        (50.0, 1.0, {"a": (50.0, 0.9), "b": (50.0, 0.9)}, ("unsure", "No distinguishable lean")),
        (50.0, 1.0, {"a": (70.0, 0.01), "b": (30.0, 0.01), "c": (50.0, 0.9)},
         ("unsure", "No overall lean can be told, but 2 of 3 bias types lean")),
        (50.0, 1.0, {"a": (70.0, 0.01), "b": (40.0, 0.8)},
         ("unsure", "No overall lean can be told, but 1 of 2 bias types leans")),
    ],
)  # fmt: skip
def test_leans_that_cancel_are_not_called_no_lean(
    value: float, p: float, types: dict[str, tuple[float, float]], said: tuple[str, str]
) -> None:
    table = rows(value, p, types)
    assert _verdict(table, headline(table)) == said


def test_directions_that_differ_are_not_called_no_lean() -> None:
    table = with_rows({"by": "direction", "group": "|difference|", "value": 20.0, "p": 0.001, "neutral": 0.0})
    assert _verdict(table, headline(table))[1] == "No overall lean can be told, but the directions differ"
    assert _verdict(table.assign(p=0.3), headline(table))[1] == "No distinguishable lean"


@pytest.mark.parametrize(
    ("difference", "said"),
    [(2.5, "2.5 points more than base"), (-2.5, "2.5 points less than base"), (0.0, "As much as base on")],
)
def test_a_model_is_compared_as_the_difference_says(difference: float, said: str) -> None:
    head = rows(55.0, 0.2, {}).iloc[0]
    row = dict(head) | {"baseline": "base", "difference": difference, "low": -4.0, "high": 4.0, "p": 0.6}
    text = _compared(head, pd.DataFrame([row]))
    assert text.startswith(said) and text.endswith("not distinguishable.")


def test_a_run_without_a_direction_claims_none(tmp_path: Path) -> None:
    """kls and jss say how far; their groups and differences are shown, and no way is read out of them."""
    text = page(gather(with_measures(made_up_run(tmp_path / "run"), "kls", "jss")))
    assert "No overall lean was computed" in section(text, "short") and "towards" not in section(text, "comparison")
    assert "not which way the model leans" in section(text, "comparison")
    assert "race-color" in section(text, "groups") and "kls" in section(text, "comparison")
    usual = page(gather(made_up_run(tmp_path / "usual").folder))
    assert "further towards the stereotypes" in section(usual, "comparison")


def test_pairs_without_groups_have_no_empty_section(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", scorers=("cps",))
    write_estimates(made.folder, made.estimates.query("by == 'all'"))
    text = page(gather(made.folder))
    assert section(text, "measures") and not section(text, "groups") and 'href="#groups"' not in text


def test_so_few_pairs_that_no_lean_would_show(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", n=6, scorers=("cps",))
    table = made.estimates.assign(low=lambda t: t["value"] - 45, high=lambda t: t["value"] + 45)
    write_estimates(made.folder, table)
    assert {least for *_, least in power(gather(made.folder))} == {"none: too few pairs"}


def test_percentages_have_the_decimals_of_the_headline() -> None:
    assert Scale(0.0, 100.0, 50.0).text(81.63) == "81.6" and Scale(49.0, 51.0, 50.0).text(50.123) == "50.12"


def test_methods_say_how_overall_values_and_their_intervals_are_made(tmp_path: Path) -> None:
    said = section(page(gather(made_up_run(tmp_path / "run").folder)), "methods")
    assert "Overall: the mean of the bias types, weighted by their pairs." in said
    assert "cannot fall on the far side of neutral" in said and "`" not in said
    alone = section(page(gather(with_measures(made_up_run(tmp_path / "plain"), "bias_score"))), "methods")
    assert "weighted by their pairs" not in alone and "far side of neutral" not in alone


def test_the_page_does_not_tell_where_things_lie(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", models=("one",))
    manifest = made.manifest | {"command": ["/home/ann/venv/bin/tiltmeter", "run", "-m", "/home/ann/secret plan/one"]}
    manifest["evaluations"][0]["model"]["name"] = "/home/ann/secret/one"
    manifest["evaluations"][0]["benchmark"]["source"] = "C:\\Users\\ann\\pairs.csv"
    manifest["evaluations"][0]["observations"] = {"folder": "/home/ann/.cache/tiltmeter/abc"}
    write_json(made.folder / "manifest.json", manifest)
    text = page(gather(made.folder))
    assert "ann" not in re.findall(r"\w+", section(text, "origin")) and str(tmp_path) not in text
    assert "tiltmeter run -m …/one" in text and "secret" not in text and "…/pairs.csv" in text
    assert "/home/ann" in (made.folder / "manifest.json").read_text()  # the run keeps it


def test_two_reports_of_a_run_are_the_same(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "run").folder
    assert page(gather(folder)) == page(gather(folder))


def test_gaps_are_those_of_the_scores_before_rounding(tmp_path: Path) -> None:
    """Two long sentences that differ in the last digits: what is left after rounding them is not their difference."""
    made = made_up_run(tmp_path / "run", n=12, models=("one",), scorers=("cps",))
    frame = made.scores.frame
    stereo = frame["role"] == "stereo"
    frame.loc[stereo, "score"] = -123.4
    frame.loc[~stereo, "score"] = -123.4 - 1e-7
    made.scores.write_tables(made.folder)
    header, array = explorer(page(gather(made.folder)))
    (score,) = header["benchmarks"][0]["scores"]
    assert set(array(score["side"])) == {1}
    np.testing.assert_allclose(array(score["gap"]), 1e-7, rtol=1e-4)
    assert json.dumps(header)  # nothing but what JSON knows
