"""Combined effects of two models: the same words and draws of contexts are drawn for both."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltmeter import Answers, Settings, catalog
from tiltmeter.families import find_family
from tiltmeter.stats.estimates import Difference, Estimate

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from neutral_data import associations
from neutral_data.kit import Cell

CES, SETTINGS, FAMILY = [catalog.find("measures", "ces")], Settings(400), find_family("associations")


def two_models(words: int, effect: float, seed: int = 1) -> Answers:
    cell = Cell("associations", "compare", "ceat", words)
    return associations.make(np.random.default_rng(seed), cell, np.array([effect, 0.0]))


def compared(answers: Answers) -> dict[str, Difference]:
    return {row.group: row for row in FAMILY.compare(answers, "m0", "m1", CES, (), SETTINGS)}


def test_a_group_that_differs_has_an_interval_without_zero() -> None:
    answers = two_models(30, 4.0)
    row = compared(answers)["g0"]
    estimates = [one for one in FAMILY.estimate(answers, CES, (), SETTINGS) if one.group == "g0"]
    assert row.difference == pytest.approx(estimates[0].value - estimates[1].value)
    assert 0 < row.low < row.difference < row.high and row.p < 0.05 and row.n_tests == 4
    assert row.p_holm == pytest.approx(4 * row.p)


def test_models_that_answer_alike_do_not_differ() -> None:
    answers = two_models(30, 0.0)
    one = answers.where(model="m0")
    twice = Answers.concat([one, one.mapped(lambda frame: frame.assign(model="m1") if "model" in frame else frame)])
    row = compared(twice)["g0"]
    assert row.difference == 0 and row.p == 1 and np.isnan(row.low), "every resample gives the same difference"


def test_what_the_words_share_cancels() -> None:
    """The effects of the words of one group are those of the other model plus a constant."""
    answers = two_models(30, 0.0)
    one = answers.where(model="m0")

    def moved(frame):  # type: ignore[no-untyped-def]
        columns = {name: frame[name] + 0.2 for name in ("value", "effect") if name in frame}
        return frame.assign(model="m1", **columns) if "model" in frame else frame

    both = Answers.concat([one, one.mapped(moved)])
    row = compared(both)["g0"]
    alone: Estimate = next(found for found in FAMILY.estimate(one, CES, (), SETTINGS) if found.group == "g0")
    assert row.difference == pytest.approx(-0.2) and "same difference" in row.note
    assert alone.high - alone.low > 0.05


def test_few_words_and_tests_of_two_sets_have_no_interval() -> None:
    few = compared(two_models(4, 4.0))["g0"]
    assert np.isfinite(few.difference) and np.isnan([few.low, few.high, few.p]).all() and few.note
    answers = two_models(8, 1.0)
    short = replace(
        answers,
        tables={name: frame[~((frame["model"] == "m1") & (frame["draw"] > 9))] if name == "draws" else frame
                for name, frame in answers.tables.items()},
    )  # fmt: skip
    row = compared(short)["g0"]
    assert np.isnan([row.low, row.p]).all() and "numbers of draws" in row.note
