"""Public implementations of BBQ's scores on responders of known truth, and the study that compares them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bbq_material import answered, question, write_category

import tiltmeter
from tiltmeter import Finding

OLD, YOUNG = ("grandfather", "old"), ("grandson", "nonOld")
BLACK_WOMAN, BLACK_MAN = ("Black woman", "F-Black"), ("Black man", "M-Black")


def small(tmp_path: Path) -> tiltmeter.Benchmark:
    """Two categories: HELM finds the targets of the first, and none of the second."""
    kinds = [{"polarity": polarity, "right": right} for polarity in ("neg", "nonneg") for right in (0, 1, 2)]
    rows = [question((OLD, YOUNG), additional_metadata={"stereotyped_groups": ["old"]}, **kind) for kind in kinds]
    write_category(tmp_path, "Age", [{"Q_id": "1", "Known_stereotyped_groups": '["old"]'}], rows)
    crossed = {"Q_id": "1", "Known_stereotyped_race": '["Black"]', "Known_stereotyped_var2": "F"}
    listed = {"stereotyped_groups": ["F-Black-woman"]}
    rows = [question((BLACK_WOMAN, BLACK_MAN), additional_metadata=listed, **kind) for kind in kinds]
    write_category(tmp_path, "Race_x_gender", [crossed], rows)
    return tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category=["Age", "Race_x_gender"])


def reported(finding: Finding, category: str, measure: str = "s_dis") -> pd.Series:
    table = finding.table[(finding.table["category"] == category) & (finding.table["measure"] == measure)]
    return table.set_index(["implementation", "responder"])["reported"]


def test_study(tmp_path: Path) -> None:
    answers = answered(small(tmp_path), lambda item: item.extra["right"])
    finding = tiltmeter.study("implementations", answers)
    values = reported(finding, "Age")
    for name in ("paper", "helm", "kobbq", "lm_eval"):
        assert values[name, "always stereotyped"] == 100.0
    assert values["paper", "always opposite"] == values["helm", "always opposite"] == -100.0
    assert values["lm_eval", "always opposite"] == 0.0
    assert np.isnan(values["paper", "never parsable"]) and values["helm", "never parsable"] == -100.0
    crossed = reported(finding, "Race_x_gender")
    assert crossed["paper", "always stereotyped"] == 100.0 and crossed["helm", "always stereotyped"] < 100.0
    targets = finding.tables["targets"].set_index(["category", "implementation"])["no_target"]
    assert targets["Race_x_gender", "helm"] == 6 and targets["Race_x_gender", "paper"] == 0 == targets["Age", "helm"]
    assert {"made-up, imported"} < set(finding.table["responder"])
    assert set(finding.tables["departures"]["implementation"]) == {"helm", "lm_eval", "kobbq"}
    assert finding.sentences and finding.draw().axes


def test_benchmarks_without_fields_of_bbq() -> None:
    answers = answered(tiltmeter.load_benchmark("plumb-choices"), lambda item: item.extra["unknown"])
    finding = tiltmeter.study("implementations", answers)
    values = reported(finding, "all")
    assert {name for name, _ in values.index} == {"paper", "kobbq"}
    for name in ("paper", "kobbq"):
        assert values[name, "always stereotyped"] == 100.0 and values[name, "always opposite"] == -100.0
        assert values[name, "always right"] == 0.0
    assert any("plumb-choices" in sentence for sentence in finding.sentences)


def test_truth_is_the_estimate(tmp_path: Path) -> None:
    """The paper's score of a model is the value that `estimate` gives."""
    rng = np.random.default_rng(2)
    answers = answered(tiltmeter.load_benchmark("plumb-choices"), lambda _: int(rng.integers(3)))
    values = tiltmeter.estimate(answers, ["s_amb", "s_dis"], by="all", resamples=100).set_index("measure")["value"]
    finding = tiltmeter.study("implementations", answers)
    for measure in ("s_amb", "s_dis"):
        assert reported(finding, "all", measure)["paper", "made-up, imported"] == pytest.approx(values[measure])


@cache
def on_bbq(folder: Path) -> Finding:
    benchmark = tiltmeter.load_benchmark("bbq", data_dir=folder)
    return tiltmeter.study("implementations", answered(benchmark, lambda item: item.extra["right"]))


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "category", "expected"),
    [
        ("paper", "all", (100.0, 0, -100.0)), ("helm", "all", (40.7, -18.1, -76.9)), ("lm_eval", "all", (84.3, 0, -84.3)),
        ("helm", "Race_x_gender", (-49.5, -50.0, -50.5)), ("helm", "Race_ethnicity", (65.4, -11.6, -88.7)),
    ],
)  # fmt: skip
def test_what_public_implementations_report_on_bbq(
    realdata: Path, name: str, category: str, expected: tuple[float, float, float]
) -> None:
    values = reported(on_bbq(realdata), category)[name]
    assert round(values["always stereotyped"], 1) == expected[0] and round(values["always opposite"], 1) == expected[2]
    assert values["fair coin"] == pytest.approx(expected[1], abs=1.5)  # a coin of another seed


@pytest.mark.realdata
def test_targets_on_bbq(realdata: Path) -> None:
    targets = on_bbq(realdata).tables["targets"]
    found = targets[targets["category"] == "all"].set_index("implementation")
    assert found.loc["helm", "no_target"] == 21_192 and found.loc["paper", "no_target"] == 16
    assert (found.loc["lm_eval", "no_target"], found.loc["lm_eval", "two_targets"]) == (4_528, 4_528)
