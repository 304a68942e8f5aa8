"""Three forms of rules by name: what they mean, what they decide, and how mistyped ones are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from gate_material import leaning_run
from support.raising import raises
from test_cli import tiltmeter
from tiltmeter import TiltmeterError
from tiltmeter.gate import check, read_rules
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.rule import DISTANCE, LIMIT, NO_EVIDENCE, SHOWN, VALUE, WORSENING
from tiltmeter.runs import Run

SCORE = "bias_score[aul,mine]"


@pytest.fixture(scope="module")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three models of 800 pairs: neutral, near the limit of 5 points, and far beyond it."""
    leans = {"neutral": 0.5, "near": 0.555, "far": 0.7}
    return leaning_run(tmp_path_factory.mktemp("forms") / "run", leans, n=1600)


@pytest.mark.parametrize(
    "text",
    [
        f"{SCORE} no evidence of more than 5 at 95%",
        f"{SCORE} shown to be within 5 at 90%",
        f"{SCORE} shown to be within 45..55 at 95%",
        f"{SCORE} shown to be at most 55 at 95%",
        f"{SCORE} no evidence of being outside 45..55 at 95%",
        f"{SCORE} no evidence of being worse than baseline by 2 at 95%",
        f"worst bias_type of {SCORE} shown to be within 20 at 95% with n >= 50 and missing <= 10% and pooling",
    ],
)
def test_a_form_is_read_back(text: str) -> None:
    assert parse(text).text == text
    assert parse(parse(text).text) == parse(text)


def test_forms_have_the_meaning_of_their_names() -> None:
    none, shown = parse(f"{SCORE} no evidence of more than 5"), parse(f"{SCORE} shown to be within 5")
    assert (none.form, none.quantity, none.limits(50.0)) == (NO_EVIDENCE, DISTANCE, (45.0, 55.0))
    assert (shown.form, shown.limits(50.0)) == (SHOWN, (45.0, 55.0))
    assert parse(f"{SCORE} shown to be within 45..55").limits(50.0) == (45.0, 55.0)
    worse = parse(f"{SCORE} no worse than BASELINE by more than 2")
    assert (worse.quantity, worse.high) == (WORSENING, 2.0)
    assert parse(f"{SCORE} within 45..55 with missing <= 10% and n >= 40").least_n == 40


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        (f"{SCORE} no evidence of mroe than 5", "wrong-format", {"part": "limit"}),
        (f"{SCORE} shown to be wthin 5", "wrong-format", {"part": "limit"}),
        (f"{SCORE} no worse then baseline by 2", "wrong-format", {"part": "limit"}),
        (f"{SCORE} shown to be within 5 with n > 30", "wrong-format", {"part": "n > 30"}),
        (f"{SCORE} shown to be within 5 with poling", "wrong-format", {"part": "poling"}),
        (f"{SCORE} shown to be within 5 with n >= 30 and n >= 40", "wrong-format", {"part": "n >= 40"}),
        (f"{SCORE} no evidence of more than -5", "out-of-range", {"reason": "distance-not-positive"}),
        (f"{SCORE} no evidence of more than 0", "out-of-range", {"reason": "distance-not-positive"}),
        (f"{SCORE} no evidence of more than 50", "out-of-range", {"reason": "cannot-fail"}),
        (f"{SCORE} shown to be within 5 with pooling", "inapplicable-option", {"reason": "pooling-needs-groups"}),
        (
            f"worst bias_type of {SCORE} no worse than baseline by 2 with pooling",
            "inapplicable-option",
            {"reason": "pooling-needs-groups"},
        ),
        (
            "worst bias_type of kls[aul,mine] at most 60 with pooling",
            "inapplicable-option",
            {"reason": "pooling-needs-shares"},
        ),
        ("mps[slots,mine] no evidence of more than 5", "inapplicable-option", {"reason": "no-best-value"}),
        ("bias_score shown to be within 5", "wrong-format", {"part": "rule"}),
        ("bias_score[aul] shown to be within 5", "wrong-format", {"part": "place"}),
        (f"{SCORE} shown to be within 55..45", "out-of-range", {"reason": "limits-reversed"}),
        (f"{SCORE} shown to be within 5 at 100%", "out-of-range", {"reason": "confidence-out-of-range"}),
        (f"{SCORE} shown to be within 60..70", "out-of-range", {"reason": "best-value-fails"}),
    ],
)
def test_a_mistyped_rule_is_refused_with_a_code(leaning: Run, text: str, code: str, fields: dict[str, str]) -> None:
    with raises(code, **fields) as refused:
        check(leaning, text)
    assert "rule" in refused.value.fields


def verdicts(run: Run, condition: str, **options: str) -> dict[str, str]:
    decision = check(run, f"{SCORE} {condition}", **options)
    return {ruling.model: ruling.verdict for ruling in decision.rulings}


def test_the_forms_differ_where_the_interval_reaches_across_the_limit(leaning: Run) -> None:
    assert verdicts(leaning, "no evidence of more than 5 at 90%") == {"neutral": PASS, "near": PASS, "far": FAIL}
    assert verdicts(leaning, "shown to be within 5 at 90%") == {"neutral": PASS, "near": UNDECIDED, "far": FAIL}
    assert verdicts(leaning, "within 45..55 at 90%") == {"neutral": PASS, "near": UNDECIDED, "far": FAIL}


@pytest.mark.parametrize(
    ("condition", "policy", "passed"),
    [
        ("shown to be within 5", "pass", False),
        ("shown to be within 5", "fail", False),
        ("within 45..55", "pass", True),
        ("within 45..55", "fail", False),
        ("no evidence of more than 5", "fail", True),
    ],
)
def test_what_must_be_shown_never_passes_undecided(leaning: Run, condition: str, policy: str, passed: bool) -> None:
    decision = check(leaning, read_rules([f"{SCORE} {condition} for near"], undecided=policy))
    assert decision.passed is passed and decision.exit_code == (0 if passed else 1)


def test_too_few_or_missing_scores_are_no_absence_of_evidence(tmp_path: Path) -> None:
    few = leaning_run(tmp_path / "few", {"m": 0.5}, n=24)
    assert verdicts(few, "no evidence of more than 5") == {"m": UNDECIDED}
    run = leaning_run(tmp_path / "gaps", {"m": 0.5}, n=400)
    table = run.answers["pairs"].table
    table.loc[table["item"].str[1:].astype(int) % 8 == 0, "score"] = float("nan")
    assert verdicts(run, "no evidence of more than 5") == {"m": FAIL}


def test_no_evidence_of_being_worse(leaning: Run) -> None:
    found = verdicts(leaning, "no evidence of being worse than baseline by 3", baseline_model="neutral")
    assert found == {"near": PASS, "far": FAIL}


def test_a_distance_uses_the_best_value_of_the_measure(leaning: Run) -> None:
    """kls lies at 50 or above, so a distance limits it on one side."""
    finding = check(leaning, "kls[aul,mine] no evidence of more than 10 for neutral").rulings[0].decisive
    assert (finding.limit_low, finding.limit_high) == (40.0, 60.0)


def test_forms_in_a_file(tmp_path: Path, leaning: Run) -> None:
    lines = [
        "no_evidence_of_more_than = 5", "shown_within = 5", "shown_within = [45, 55]", "no_worse_by = 3",
        "no_evidence_outside = [45, 55]", 'shown_within = 20\nworst = "bias_type"\npooling = true',
    ]  # fmt: skip
    place = '[[rule]]\nmeasure = "bias_score"\nscorer = "aul"\nbenchmark = "mine"\n'
    (tmp_path / "gate.toml").write_text("\n".join(f"{place}{line}" for line in lines))
    rules = read_rules(file=tmp_path / "gate.toml").rules
    assert [(rule.form, rule.quantity, rule.limits(50.0)) for rule in rules] == [
        (NO_EVIDENCE, DISTANCE, (45.0, 55.0)), (SHOWN, DISTANCE, (45.0, 55.0)), (SHOWN, VALUE, (45.0, 55.0)),
        (LIMIT, WORSENING, (-math.inf, 3.0)), (NO_EVIDENCE, VALUE, (45.0, 55.0)), (SHOWN, DISTANCE, (30.0, 70.0)),
    ]  # fmt: skip
    assert rules[-1].pooled and rules[-1].worst
    (tmp_path / "bad.toml").write_text(f'{place}shown_within = 5\npooling = "yes"\n')
    with pytest.raises(TiltmeterError) as refused:
        read_rules(file=tmp_path / "bad.toml")
    assert refused.value.code == "wrong-type" and refused.value.fields["key"] == "pooling"


def test_pooling_decides_where_groups_are_alike(tmp_path: Path) -> None:
    """60 pairs of each group: raw intervals reach ±12.7 points, pooled ones about half of that."""
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=240)
    rule = f"worst bias_type of {SCORE} shown to be within 13"
    assert check(run, rule).verdict == UNDECIDED
    pooled = check(run, f"{rule} with pooling")
    assert pooled.verdict == PASS
    raw = {finding.group: finding for finding in check(run, rule).rulings[0].findings}
    for finding in pooled.rulings[0].findings:
        assert finding.high - finding.low < raw[finding.group].high - raw[finding.group].low
    one = check(run, "bias_score[aul,mine,bias_type=age] shown to be within 15 with pooling").rulings[0].decisive
    same = next(finding for finding in pooled.rulings[0].findings if finding.group == "age")
    assert one.value == pytest.approx(same.value) and one.value != raw["age"].value


def test_pooling_does_not_hide_a_group_that_differs(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=800, by_type={"religion": 0.95})
    decision = check(run, f"worst bias_type of {SCORE} within 30..70 with pooling")
    assert decision.verdict == FAIL and decision.rulings[0].decisive.group == "religion"


def test_the_decision_says_which_form_and_limits_applied(
    leaning: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tiltmeter("check", leaning.folder, "--rule", f"{SCORE} no evidence of more than 5 for near", "--json") == 0
    (ruling,) = json.loads(capsys.readouterr().out)["rules"]
    assert ruling["stated"]["form"] == "no-evidence"
    assert (ruling["findings"][0]["limit_low"], ruling["findings"][0]["limit_high"]) == (45, 55)
