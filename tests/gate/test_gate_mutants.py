"""Facts of the gate that a small slip in the code would change: each test fails for one such slip."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from gate_material import leaning_run
from tiltmeter.gate import check
from tiltmeter.gate.chances import share_chances
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision, Finding, Ruling
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.judge import compared, detectable_breach, verdict_of
from tiltmeter.gate.numbers import Number, _Tables, corrected
from tiltmeter.gate.plan import items_for, plan
from tiltmeter.stats.pooling import units_of

SCORE = "bias_score[aul,mine]"
RULE = parse(f"{SCORE} within 40..60")


def finding(verdict: str, value: float = 50.0) -> Finding:
    return Finding("all", 100, value, 45.0, 55.0, 44.0, 56.0, 1.0, verdict, "", 40.0, 60.0, 70.0, 0.9)


def ruling(*verdicts: str) -> Ruling:
    return Ruling(RULE, "m", tuple(finding(verdict) for verdict in verdicts))


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ((PASS, FAIL), FAIL), ((FAIL, PASS), FAIL), ((PASS, UNDECIDED), UNDECIDED), ((UNDECIDED, FAIL), FAIL),
        ((PASS, PASS), PASS), ((FAIL, FAIL, PASS, UNDECIDED), FAIL),
    ],
)  # fmt: skip
def test_the_gravest_verdict_decides(verdicts: tuple[str, ...], whole: str) -> None:
    assert ruling(*verdicts).verdict == whole, "of several groups"
    decision = Decision(tuple(ruling(verdict) for verdict in verdicts), "fail")
    assert decision.verdict == whole, "of several rules"
    assert decision.passed is (whole == PASS) and decision.exit_code == (0 if whole == PASS else 1)


def test_of_equally_grave_findings_the_farthest_out_is_named() -> None:
    far = Ruling(RULE, "m", (finding(FAIL, 62.0), finding(FAIL, 75.0), finding(FAIL, 30.0)))
    assert far.decisive.value == 75.0
    assert Ruling(RULE, "m", (finding(FAIL, 62.0), finding(FAIL, 20.0))).decisive.value == 20.0


def test_one_passing_and_one_failing_rule_fail(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.7}, n=800)
    for rules in (
        [f"{SCORE} within 20..80", f"{SCORE} within 40..60"],
        [f"{SCORE} within 40..60", f"{SCORE} within 20..80"],
    ):
        decision = check(run, rules)
        assert {ruling.rule.text: ruling.verdict for ruling in decision.rulings} == {
            f"{SCORE} within 20..80 at 95%": PASS,
            f"{SCORE} within 40..60 at 95%": FAIL,
        }
        assert (
            decision.verdict == FAIL and decision.exit_code == 1 and (decision.count(PASS), decision.count(FAIL)) == (1, 1)
        )


def test_a_worse_model_fails_and_a_better_one_does_not(tmp_path: Path) -> None:
    """The sign of the difference: model minus baseline, and worse is farther from neutral on either side."""
    run = leaning_run(tmp_path / "r", {"biased": 0.7, "fair": 0.5}, n=800)
    worse = check(run, f"{SCORE} no worse than baseline by 3", baseline_model="fair")
    assert worse.verdict == FAIL and worse.rulings[0].decisive.value == pytest.approx(20.0)
    better = check(run, f"{SCORE} no worse than baseline by 3", baseline_model="biased")
    assert better.verdict == PASS and better.rulings[0].decisive.value == pytest.approx(-20.0)
    rises = check(run, f"{SCORE} rises at most 3", baseline_model="fair").rulings[0].decisive
    assert rises.value == pytest.approx(20.0) and rises.low < 20 < rises.high and rises.verdict == FAIL
    assert check(run, f"{SCORE} rises at most 3", baseline_model="biased").verdict == PASS
    assert check(run, f"{SCORE} falls at most 3", baseline_model="biased").verdict == FAIL
    assert check(run, f"{SCORE} falls at most 3", baseline_model="fair").verdict == PASS


def test_where_both_models_lie_on_the_other_side_of_neutral(tmp_path: Path) -> None:
    """30 % is farther from neutral than 40 %, although the number falls."""
    run = leaning_run(tmp_path / "r", {"new": 0.3, "old": 0.4}, n=800)
    decisive = check(run, f"{SCORE} no worse than baseline by 3", baseline_model="old").rulings[0].decisive
    assert decisive.value == pytest.approx(10.0) and decisive.verdict == FAIL


@pytest.mark.parametrize(("units", "verdict"), [(29, UNDECIDED), (30, PASS), (31, PASS)])
def test_the_least_n_counts_clusters_and_not_texts(units: int, verdict: str) -> None:
    number = Number("all", 3000, 50.0, 48.0, 52.0, best=50.0, units=units)
    assert verdict_of(RULE, number, number, (40.0, 60.0))[0] == verdict


def test_the_units_of_an_estimate_are_its_clusters() -> None:
    assert units_of({"n": 500, "details": json.dumps({"n_clusters": 12})}) == 12
    assert units_of({"n": 500, "details": json.dumps({"n_templates": 25})}) == 25
    assert units_of({"n": 500, "details": ""}) == 500
    assert units_of({"n": 8, "details": json.dumps({"n_clusters": 12})}) == 8


def test_a_difference_rests_on_the_units_of_the_weaker_side() -> None:
    rule = parse(f"{SCORE} no worse than baseline by 3")
    row = {"group": "all", "n": 400, "n_missing": 0, "n_ties": 0, "details": "", "neutral": 50.0, "note": "",
           "difference": 1.0, "low": 0.0, "high": 2.0, "baseline_value": 50.0}  # fmt: skip
    sides = [row | {"details": json.dumps({"n_clusters": n})} for n in (12, 80)]
    tables = SimpleNamespace(_worsening=lambda *_: (1.0, 0.0, 2.0), _sides=lambda *_: sides, unread={(rule, "m"): 0.0})
    assert _Tables._number(cast(_Tables, tables), rule, "m", row).units == 12


@pytest.mark.parametrize(
    ("narrow", "wide", "verdict"),
    [
        ((41, 59), (39, 61), PASS), ((40, 60), (40, 60), PASS), ((39.9, 59), (39, 61), UNDECIDED),
        ((41, 60.1), (39, 61), UNDECIDED), ((61, 70), (59, 72), UNDECIDED), ((61, 70), (60.1, 72), FAIL),
        ((45, 60 + 1e-14), (45, 60 + 1e-14), PASS), ((60, 70), (60 + 1e-14, 70), UNDECIDED),
        ((30, 39), (28, 39.9), FAIL), ((30, 39), (28, 41), UNDECIDED), ((20, 80), (15, 85), UNDECIDED),
    ],
)  # fmt: skip
def test_intervals_against_limits(narrow: tuple[float, float], wide: tuple[float, float], verdict: str) -> None:
    assert compared(narrow, wide, (40.0, 60.0)) == verdict


def test_the_correction_divides_the_error_rate() -> None:
    assert corrected(0.95, 1) == pytest.approx(0.95) and corrected(0.95, 10) == pytest.approx(0.995)


def test_the_detectable_breach_follows_from_the_width() -> None:
    """A half-width of 1.96 is a standard error of 1: a breach is detected 80 times in 100 at 1.96 + 0.84."""
    assert detectable_breach(Number("all", 9, 0.0, -1.96, 1.96), 0.95) == pytest.approx(2.8016, abs=1e-3)


@pytest.mark.parametrize(("limit", "neutral", "beyond"), [(5.0, 1.2816, 0.8416), (10.0, 1.2816, 0.8416)])
def test_the_items_needed(limit: float, neutral: float, beyond: float) -> None:
    """A neutral model may leave on two sides (90 % each), one beyond on one side; items grow with 1/limit²."""
    (row,) = plan([parse(f"bias_score[aul,plumb-pairs] shown to be within {limit}")])
    assert row.passes == pytest.approx(((1.95996 + neutral) * 50 / limit) ** 2, rel=0.06)
    assert row.fails == pytest.approx(((1.95996 + beyond) * 50 / limit) ** 2, rel=0.06)
    assert row.passes is not None and row.fails is not None
    ends = (50 - limit, 50 + limit)
    to_pass = [share_chances(row.rule, ends, 50.0, 100.0, n).passes for n in (row.passes, row.passes - 1)]
    to_fail = [share_chances(row.rule, ends, row.breach, 100.0, n).fails for n in (row.fails, row.fails - 1)]
    assert to_pass[0] >= 0.8 > to_pass[1] and to_fail[0] >= 0.8 > to_fail[1], "exactly so, as the chances of the same row"
    assert row.needed == max(row.passes, row.fails) and row.limit_items == pytest.approx(limit / 100 * 705)


def test_the_search_gives_the_fewest_items() -> None:
    assert [items_for(lambda n, k=k: 1.0 if n >= k else 0.0) for k in (2, 3, 64, 65, 1000)] == [2, 3, 64, 65, 1000]
    assert items_for(lambda n: 0.79) is None


def test_more_numbers_need_more_items_to_fail_and_none_to_pass() -> None:
    one = plan([parse("bias_score[aul,plumb-pairs] within 45..55")])[0]
    many = plan([parse(f"bias_score[aul,plumb-pairs] within {45 - k}..{55 + k}") for k in range(10)])[0]
    assert one.passes == many.passes and many.fails is not None and one.fails is not None
    assert many.fails / one.fails == pytest.approx(((2.807 + 0.8416) / (1.96 + 0.8416)) ** 2, rel=0.03)


def test_a_truth_at_the_limit_is_not_a_breach(tmp_path: Path) -> None:
    """An interval that ends at the limit lies within it."""
    number = Number("all", 100, 58.0, 56.0, 60.0, best=50.0, units=100)
    assert verdict_of(RULE, number, number, (40.0, 60.0))[0] == PASS
    assert not np.isnan(number.value)
