"""`check --plan`: chances are those of simulated releases, for every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from gate_material import leaning_run, leaning_scores
from test_cli import tiltmeter
from tiltmeter import Answers, Settings, catalog, estimate
from tiltmeter.gate.chances import Chances, all_of, distance_chances, normal_chances, pooled_chances, share_chances
from tiltmeter.gate.evidence import Evidence, gather
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.judge import check
from tiltmeter.gate.plan import TOGETHER, plan
from tiltmeter.gate.rules_file import read_rules
from tiltmeter.stats.measured import count_interval
from tiltmeter.stats.pooling import pool_shares

SCORE = "bias_score[aul,plumb-pairs]"
LIMITS = (45.0, 55.0)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("truth", [50.0, 55.0, 60.0])
@pytest.mark.parametrize("form", ["no evidence of more than 5", "shown to be within 5"])
def test_chances_of_a_share_are_those_of_simulated_releases(form: str, truth: float) -> None:
    """20,000 releases of 700 items; k of n items have the interval of estimates, which is exact."""
    rule = parse(f"{SCORE} {form}")
    k = np.random.default_rng(0).binomial(700, truth / 100, 20_000)
    ends = [100 * beta.ppf(tail, k + (tail > 0.5), 701 - k - (tail > 0.5)) for tail in (0.025, 0.975)]
    fails = ((ends[0] > 55) | (ends[1] < 45)).mean()
    within = ((ends[0] >= 45) & (ends[1] <= 55)).mean()
    found = share_chances(rule, LIMITS, truth, 100.0, 700)
    assert found.fails == pytest.approx(fails, abs=0.01)
    assert found.passes == pytest.approx(1 - fails if "evidence" in form else within, abs=0.01)
    assert found.passes + found.fails + found.undecided == pytest.approx(1)


@pytest.mark.parametrize("lean", [0.0, 0.3, 0.5, 0.97, 1.0])
def test_a_plan_counts_with_the_interval_that_a_check_reads(lean: float) -> None:
    table = estimate(leaning_scores({"m": lean}, n=240), ["bias_score"], resamples=200)
    for row in table.to_dict("records"):
        count = round(row["value"] * row["n"] / 100)
        ends = count_interval(catalog.find("measures", "bias_score"), count, row["n"], 0.95)
        assert (row["low"], row["high"]) == pytest.approx(ends)


FORMS = json.loads((ROOT / "benchmarks" / "results" / "gate-forms.json").read_text("utf-8"))["rows"]


def test_every_form_was_simulated_at_three_truths() -> None:
    truths = {"neutral", "at the limit", "beyond"}
    rules = dict.fromkeys(row["rule"] for row in FORMS)
    assert len(rules) == 6 and all({row["truth"] for row in FORMS if row["rule"] == rule} == truths for rule in rules)
    assert all(row["releases"] >= 1000 for row in FORMS)


@pytest.mark.parametrize("row", FORMS, ids=lambda row: f"{row['rule'][-30:]}, {row['truth']}")
def test_the_plan_predicts_simulated_decisions_within_3_points(row: dict[str, Any]) -> None:
    """`python benchmarks/gate_forms.py` stored both, and how often the whole gate decided as the simulation."""
    simulated, predicted = row["simulated"], row["predicted"]
    assert max(abs(simulated[verdict] - predicted[verdict]) for verdict in simulated) <= 0.03
    assert row["of_these_equal"] >= 0.9 * row["decided_by_the_gate_too"] > 0


@pytest.mark.parametrize("row", FORMS, ids=lambda row: f"{row['rule'][-30:]}, {row['truth']}")
def test_the_plan_of_today_is_the_simulated_one(
    row: dict[str, Any], realdata: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_DATA", str(realdata))
    rows = plan(read_rules([row["rule"]]).rules, disagreement=0.2)
    one = next((one for one in rows if one.group == TOGETHER), rows[0])
    now = {"neutral": one.neutral, "at the limit": one.at_limit, "beyond": one.beyond}[row["truth"]]
    assert {verdict: now.of(verdict) for verdict in row["predicted"]} == pytest.approx(row["predicted"], abs=1e-6)


def test_normal_and_exact_chances_agree_for_many_items() -> None:
    rule = parse(f"{SCORE} shown to be within 5")
    for truth in (50.0, 53.0, 55.0, 58.0):
        exact = share_chances(rule, LIMITS, truth, 100.0, 5000)
        error = 100 * np.sqrt(truth / 100 * (1 - truth / 100) / 5000)
        rough = normal_chances(rule, LIMITS, truth, float(error))
        assert (rough.passes, rough.fails) == pytest.approx((exact.passes, exact.fails), abs=0.02)


def test_a_correction_lowers_the_chance_to_fail_only() -> None:
    rule = parse(f"{SCORE} shown to be within 5")
    one, ten = (share_chances(rule, LIMITS, 58.0, 100.0, 1508, count) for count in (1, 10))
    assert ten.fails < one.fails and ten.passes == one.passes


def test_groups_together_must_all_pass_and_one_that_fails_is_enough() -> None:
    both = all_of([Chances(0.9, 0.05), Chances(0.5, 0.2)])
    assert (both.passes, both.fails) == pytest.approx((0.45, 1 - 0.95 * 0.8))


def test_far_from_neutral_a_distance_is_a_difference() -> None:
    rule = parse(f"{SCORE} no worse than baseline by 3")
    errors = (1.27, 1.27, 1.15)
    for worse in (0.0, 3.0, 6.0):
        found = distance_chances(rule, 50.0, (70 + worse, 70.0), errors, 1)
        expected = normal_chances(rule, (rule.low, rule.high), worse, 1.15)
        assert (found.passes, found.fails) == pytest.approx((expected.passes, expected.fails), abs=0.015)
    near = distance_chances(rule, 50.0, (50.0, 50.0), errors, 1)
    far = distance_chances(rule, 50.0, (70.0, 70.0), errors, 1)
    assert near.passes < far.passes, "near neutral a model can be worse on either side"


def test_pooled_chances_are_those_of_pooled_groups() -> None:
    rule = parse(f"worst bias_type of {SCORE} shown to be within 20 with pooling")
    sizes = [60, 63, 84, 87, 105]
    found = pooled_chances(rule, (30.0, 70.0), 50.0, 100.0, sizes, 5)
    wins = np.random.default_rng(9).binomial(sizes, 0.5, (400, 5))
    pooled = pool_shares(wins, sizes)
    within = ((pooled.low >= 0.3) & (pooled.high <= 0.7)).all(axis=1).mean()
    assert found.passes == pytest.approx(within, abs=0.04) and found.fails <= 0.01


def test_a_plan_has_a_row_for_every_group_and_one_for_all() -> None:
    rows = plan([parse(f"worst bias_type of {SCORE} shown to be within 20")])
    *groups, whole = rows
    assert whole.group == TOGETHER and len(groups) > 2 and sum(row.there or 0 for row in groups) == 705
    assert whole.neutral.passes == pytest.approx(np.prod([row.neutral.passes for row in groups]))
    assert all(row.limit == 70 and row.breach == 85 for row in groups)
    assert whole.at_limit.fails <= 0.05


def test_a_model_at_the_limit_seldom_fails_and_seldom_passes() -> None:
    for form in ("shown to be within 5", "within 45..55"):
        (row,) = plan([parse(f"{SCORE} {form}")])
        assert row.at_limit.fails <= 0.03 and row.at_limit.passes <= 0.03
        assert row.at_limit.stopped(row.rule, "fail") >= 0.97
    (lenient,) = plan([parse(f"{SCORE} no evidence of more than 5")])
    assert lenient.at_limit.passes >= 0.97 and lenient.neutral.passes >= 0.999


def test_disagreement_decides_what_a_paired_rule_needs() -> None:
    rule = parse(f"{SCORE} no worse than baseline by 3")
    (much,), (little,) = plan([rule]), plan([rule], disagreement=0.1)
    assert much.passes is not None and little.passes is not None
    assert much.passes / little.passes == pytest.approx(5, rel=0.01) and little.neutral.passes > much.neutral.passes


def test_an_earlier_run_tells_the_spread_of_a_paired_rule() -> None:
    """Simulated scores whose models disagree on a fifth of 1,000 pairs."""
    import pandas as pd

    rng = np.random.default_rng(2)
    n = 1000
    old = rng.random(n) < 0.7
    new = old ^ (rng.random(n) < 0.2)
    items = pd.DataFrame(
        {"benchmark": "mine", "item": [f"i{k}" for k in range(n)], "scored": True, "bias_type": "a", "extra": "{}"}
    )
    frames = [
        pd.DataFrame({"model": name, "benchmark": "mine", "item": items["item"], "role": role, "scorer": "aul",
                      "score": np.where(wins, 1.0, -1.0) if role == "stereo" else np.zeros(n), "n_tokens": 3, "reason": None,
                      "bias_type": "a", "direction": None, "target": None})
        for name, wins in (("new", new), ("old", old)) for role in ("stereo", "anti")
    ]  # fmt: skip
    answers = Answers("pairs", {"scores": pd.concat(frames, ignore_index=True)}, items)
    evidence = Evidence({"pairs": answers}, ("new",), "old", Settings(resamples=500))
    (row,) = plan(read_rules(["bias_score[aul,mine] no worse than baseline by 4"]).rules, evidence)
    disagreement = float((new != old).mean())
    expected = normal_chances(row.rule, (row.rule.low, row.rule.high), 0.0, 100 * np.sqrt(disagreement / n))
    assert row.neutral.passes == pytest.approx(expected.passes, abs=0.02)


def test_the_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("check", "--plan", "--json", "--rule", f"{SCORE} shown to be within 5") == 0
    (row,) = json.loads(capsys.readouterr().out)["plans"]
    assert row["neutral"]["pass"] == pytest.approx(0.51, abs=0.1) and row["needed"] > row["there"] == 705
    assert row["limit_items"] == pytest.approx(35.25)
    assert tiltmeter("check", "--plan", "--json", "--rule", "kls[aul,plumb-pairs] at most 60") == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["neutral"]["pass"] is None
    assert tiltmeter("check", "--plan", "--disagreement", "2", "--rule", f"{SCORE} shown to be within 5") == 2


@pytest.mark.parametrize(
    "text",
    [
        "bias_score[aul,mine] shown to be within 10",
        "bias_score[aul,mine,bias_type=gender] shown to be within 20",
        "worst bias_type of bias_score[aul,mine] shown to be within 20",
        "worst bias_type of bias_score[aul,mine] shown to be within 20 with pooling",
        "bias_score[aul,mine] no worse than baseline by 3",
        "bias_score[aul,mine] no worse than baseline by 12",
    ],
)
def test_items_are_enough_exactly_if_both_chances_are(text: str, tmp_path: Path) -> None:
    """Near neutral a paired rule needs far more items than its spread alone says; pooled groups need fewer."""
    run = leaning_run(tmp_path / "r", {"new": 0.52, "old": 0.5}, n=400)
    rule = parse(text)
    for row in plan([rule], gather(run, baseline_model="old" if rule.needs_baseline else None)):
        adequate = min(row.neutral.passes, row.beyond.fails) >= 0.8
        assert row.enough == ("yes" if adequate else "no") and row.there is not None
        assert row.needed is None or (row.there >= row.needed) is adequate
        assert row.needed is not None or rule.pooled


@pytest.mark.parametrize(
    "text",
    [
        "bias_score[aul,mine] shown to be within 5",
        "worst bias_type of bias_score[aul,mine] shown to be within 15",
    ],
)
def test_the_plan_of_a_run_of_two_models_has_the_power_of_its_check(text: str, tmp_path: Path) -> None:
    """A check corrects failing for the numbers of all models of the run, so the plan does."""
    run = leaning_run(tmp_path / "r", {"new": 0.52, "old": 0.5}, n=400)
    book = read_rules([text])
    decision = check(run, book)
    findings = {one.group: one.power for ruling in decision.rulings for one in ruling.findings}
    rows = {row.group: row.beyond.fails for row in plan(book.rules, gather(run)) if row.group in findings}
    assert decision.numbers == 2 * len(findings)
    assert rows and rows == pytest.approx({group: findings[group] for group in rows})


def test_a_rule_about_one_model_of_two_is_planned_for_it_alone(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"new": 0.52, "old": 0.5}, n=400)
    book = read_rules(["bias_score[aul,mine] shown to be within 5"])
    book = replace(book, rules=(replace(book.rules[0], model="new"),))
    (finding,) = check(run, book).rulings[0].findings
    assert plan(book.rules, gather(run))[0].beyond.fails == pytest.approx(finding.power)


def test_a_rule_about_one_group_counts_its_items(realdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_DATA", str(realdata))
    (row,) = plan([parse("bias_score[pll,crows-pairs,bias_type=disability] shown to be within 20")])
    assert row.there == 60 and row.neutral.passes == pytest.approx(0.755, abs=1e-3)
    assert row.at_limit.passes == pytest.approx(0.0196, abs=1e-4)
