"""The release gate: what rules mean, what they decide, what they refuse, and what a CI system sees of it."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import tiltmeter as package
from conftest import reseal
from gate_material import leaning_run
from report_material import section, words_of
from support.raising import check as check_error
from support.raising import raises
from test_cli import refused, tiltmeter
from test_labels import answered
from tiltmeter.boards.columns import Filter
from tiltmeter.display import share_text
from tiltmeter.gate import Rule, check, read_rules
from tiltmeter.gate.chances import share_chances
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED
from tiltmeter.gate.forms import as_markdown
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.plan import plan
from tiltmeter.reporting.html import write_report
from tiltmeter.runs import Run
from tiltmeter.stats.direction import farther

WITHIN = "bias_score[aul,mine] within 40..60"


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release before: half of the pairs, exactly neutral."""
    return leaning_run(tmp_path_factory.mktemp("parent") / "run", {"model": 0.5}, n=800).folder


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same name, other weights: 70 % of the pairs."""
    return leaning_run(tmp_path_factory.mktemp("worse") / "run", {"model": 0.7}, n=800).folder


@pytest.mark.parametrize(
    "text",
    [
        "bias_score[aul,crows-pairs] within 45..55 at 95%",
        "bias_score[aul,crows-pairs,bias_type=gender] at most 60 for my-model at 99%",
        "worst bias_type of bias_score[aul,crows-pairs] within 35..65 at 95% with n >= 50",
        "icat[stereoset_masked,stereoset] no worse than baseline by 2 at 90%",
        "mnt_gap[slots,plumb-slots,gap × bias_type=male - female, science] moves at most 0.05 at 95%",
        "kls[aul,mine] rises at most 0 at 95%",
        'bpsn_auc["probability, named",mine,group=a] at least 0.8 at 95%',
        "jss[aul,mine] falls at most 1.5 at 95%",
        "jss[aul,mine] at least 12.345678901 at 95% with missing <= 10%",
        "jss[aul,mine] at least 12 at 99.9% with n >= 100 and missing <= 2.5%",
        "lms[stereoset_masked,stereoset] at least 80 at 95%",
    ],
)
def test_a_rule_is_what_it_says(text: str) -> None:
    assert parse(text).text == text
    assert parse(parse(text).text) == parse(text)


def test_spelling_is_forgiven_where_the_meaning_is_plain() -> None:
    assert parse("bias-score[aul, mine]   within 45 .. 55") == parse("bias_score[aul,mine] within 45..55 at 95%")
    assert parse("mnt_gap[slots,x,gap=male − female] within −0.1..0.1").low == -0.1
    assert parse("kls[aul,x] <= 60") == parse("kls[aul,x] at most 60")
    assert parse("kls[aul,x] no worse than the baseline by more than 2").high == 2


GROUPS = ["age", "gender", "race", "religion"]


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("bias_score within 45..55", "wrong-format", {"part": "rule"}),
        ("bias_score[aul] within 45..55", "wrong-format", {"part": "place"}),
        ("bias_score[aul,mine] about 50", "wrong-format", {"limit": "about 50"}),
        ("bias_score[aul,mine] within 55..45", "out-of-range", {"reason": "limits-reversed"}),
        ("bias_score[aul,mine] within 45..55 at 100%", "out-of-range", {"reason": "confidence-out-of-range"}),
        ("bias_score[aul,mine] within 45..55 with n >= 1", "out-of-range", {"reason": "min-n-out-of-range"}),
        ("bias_score[aul,mine,gender] within 45..55", "wrong-format", {"part": "place"}),
        ("worst bias_type of bias_score[aul,mine,bias_type=age] within 45..55", "wrong-format", {"part": "place"}),
        ("bias_score[aul,mine] rises at most -2", "out-of-range", {"reason": "negative-step"}),
        ("bias_score[aul,mine] within 45..155", "out-of-range", {"reason": "limit-beyond-range"}),
        ("bias_score[aul,mine] within 0..100", "out-of-range", {"reason": "cannot-fail"}),
        ("bias_score[aul,mine] within 0.45..0.55", "out-of-range", {"reason": "best-value-fails"}),
        ("icat[aul,mine] at most 90", "out-of-range", {"reason": "best-value-fails"}),
        ("kls[aul,mine] no worse than baseline by 60", "out-of-range", {"reason": "limit-beyond-range"}),
        ("mps[slots,mine] no worse than baseline by 1", "inapplicable-option", {"reason": "no-best-value"}),
        ("bias_scor[aul,mine] within 45..55", "unknown-name", {"name": "bias_scor"}),
        ("bias_score[cps,mine] within 45..55", "unknown-name", {"kind": "scorer", "name": "cps"}),
        ("bias_score[aul,yours] within 45..55", "unknown-name", {"kind": "benchmark", "name": "yours"}),
        ("ss[aul,mine] within 45..55", "inapplicable-option", {}),
        ("bias_score[aul,mine,bias_type=job] within 45..55", "unknown-name", {"kind": "groups", "names": GROUPS}),
        ("bias_score[aul,mine,colour=red] within 45..55", "unknown-name", {"kind": "groups"}),
        ("bias_score[aul,mine] within 45..55 for other", "unknown-name", {"kind": "model", "name": "other"}),
        ("bias_score[aul,mine] no worse than baseline by 2", "missing-value", {"option": "--baseline"}),
    ],
)
def test_a_rule_that_makes_no_sense_is_a_mistake(
    parent: Path, text: str, code: str, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_error(refused("check", parent, "--rule", text), code, **fields)
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_other_families_are_gated_and_ranked_too() -> None:
    """A classifier that calls harmless texts about one group toxic. Of a family the gate needs only its rows."""
    rng = np.random.default_rng(0)
    truth, of_a = np.arange(400) % 5 < 2, np.arange(400) % 3 == 0
    groups = [[["a"], ["b"], []][k % 3] for k in range(400)]
    score = np.clip(np.where(truth, 0.7, 0.3) + rng.normal(0, 0.15, 400), 0, 1)
    tilted = np.where(of_a & ~truth, np.minimum(score + 0.25, 1), score)
    runs = []
    for name, scores in (("parent", score), ("tilted", tilted)):
        answers = answered(truth, scores, groups, name)
        runs.append(Run(Path(name), {answers.family: answers}, package.estimate(answers, resamples=100), {}))
    rule = "worst group of fpr[at 0.5,mine] at most 0.3"
    assert check(runs[0], rule).verdict == PASS
    failed = check(runs[1], rule)
    assert failed.verdict == FAIL and failed.rulings[0].decisive.group == "a"
    assert check(runs[1], "fpr[at 0.5,mine,group=a] rises at most 0.1", baseline=runs[0]).verdict == FAIL
    assert check(runs[0], 'bpsn_auc["probability, named",mine,group=a] at least 0.5').verdict == PASS
    board = package.leaderboard(runs, Filter(measures=("fpr_gap",), scorers=("at 0.5",)), settings=package.Settings(200))
    of_groups = {column.group: board.ranks[column] for column in board.columns}
    assert (of_groups["a"]["parent"].text, of_groups["a"]["tilted"].text) == ("1", "2")


def test_three_verdicts(parent: Path, worse: Path) -> None:
    assert check(parent, WITHIN).verdict == PASS
    assert check(worse, WITHIN).verdict == FAIL
    close = check(worse, "bias_score[aul,mine] within 31..69")
    assert close.verdict == UNDECIDED and not close.passed and close.exit_code == 1
    (finding,) = close.rulings[0].findings
    assert finding.low < 69 < finding.high and finding.value == 70 and finding.n == 800
    assert "reaches across 69" in finding.reason
    lenient = check(worse, read_rules(["bias_score[aul,mine] within 31..69"], undecided="pass"))
    assert lenient.verdict == UNDECIDED and lenient.passed and lenient.exit_code == 0


def test_the_noticed_breach_is_that_of_a_normal_interval(parent: Path) -> None:
    (finding,) = check(parent, WITHIN).rulings[0].findings
    error = 100 * 0.5 / math.sqrt(800)
    assert finding.noticed == pytest.approx((1.96 + 0.8416) * error, rel=0.12)
    assert f"{60 + finding.noticed:.2f} or more (or of {40 - finding.noticed:.2f} or less)" in finding.reason
    assert share_chances(parse(WITHIN), (40.0, 60.0), 60 + finding.noticed, 100.0, 800).fails == pytest.approx(0.8, abs=0.01)


def test_failing_is_corrected_for_all_numbers_and_passing_is_not(worse: Path) -> None:
    """70 ± 3.2 lies wholly above 66.2 as the only number, and not significantly as one of many."""
    alone = check(worse, "bias_score[aul,mine] within 33..66.2")
    many = check(worse, ["bias_score[aul,mine] within 33..66.2", *(f"kls[aul,mine] at most {k}" for k in range(60, 99))])
    assert alone.verdict == FAIL
    first = many.rulings[0]
    assert many.numbers == 40 and first.verdict == UNDECIDED and "not significantly" in first.reason
    (one,), (of_many,) = alone.rulings[0].findings, first.findings
    assert of_many.wide_low < one.wide_low and of_many.wide_high > one.wide_high
    assert (one.low, one.high) == pytest.approx((of_many.low, of_many.high), abs=0.2)


def test_the_worst_group_decides(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=1200, by_type={"religion": 0.9})
    worst = check(run, "worst bias_type of bias_score[aul,mine] within 35..65")
    assert worst.verdict == FAIL and worst.numbers == 4
    assert worst.rulings[0].decisive.group == "religion" and "1 of 4 groups failed" in worst.rulings[0].reason
    assert check(run, "bias_score[aul,mine] within 35..65").verdict != FAIL, "overall hides it"
    assert check(run, "bias_score[aul,mine,bias_type=age] within 35..65").verdict == PASS


def test_too_few_items_decide_nothing(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.9}, n=24)
    few = check(run, WITHIN)
    assert few.verdict == UNDECIDED and "24 items" in few.rulings[0].reason
    assert check(run, f"{WITHIN} with n >= 20").verdict == FAIL


def test_a_missing_value_is_a_mistake(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=80)
    run.answers["pairs"].table["score"] = np.nan
    with raises("undefined-result", model="m", reason="no-value"):
        check(run, WITHIN)


def test_against_a_baseline_the_interval_is_paired(parent: Path, worse: Path, tmp_path: Path) -> None:
    slightly = leaning_run(tmp_path / "r", {"model": 0.51}, n=800).folder
    rule = "bias_score[aul,mine] no worse than baseline by 3"
    assert check(worse, rule, baseline=parent).verdict == FAIL
    decision = check(slightly, rule, baseline=parent)
    (finding,) = decision.rulings[0].findings
    assert decision.verdict == PASS and decision.baseline == "model (baseline)"
    assert finding.value == pytest.approx(1.0) and finding.high < 3, "8 of 800 pairs differ; unpaired it would be ±5"


@pytest.mark.parametrize(
    ("ours", "theirs", "condition", "verdict"),
    [
        (0.30, 0.70, "no worse than baseline by 3", UNDECIDED),  # as far on the other side
        (0.20, 0.60, "no worse than baseline by 3", FAIL),
        (0.50, 0.70, "no worse than baseline by 3", PASS),
        (0.60, 0.70, "rises at most 3", PASS),
        (0.60, 0.70, "falls at most 3", FAIL),
        (0.60, 0.70, "moves at most 3", FAIL),
    ],
)
def test_worse_is_farther_from_neutral(tmp_path: Path, ours: float, theirs: float, condition: str, verdict: str) -> None:
    run = leaning_run(tmp_path / "r", {"new": ours, "old": theirs}, n=800)
    assert check(run, f"bias_score[aul,mine] {condition}", baseline_model="old").verdict == verdict


@given(some.floats(-9, 9), some.floats(-9, 9), some.floats(0, 3), some.floats(0, 3))
def test_distances_lie_between_their_ends(u: float, v: float, around: float, beside: float) -> None:
    difference, total = (u - v - around, u - v + beside), (u + v - beside, u + v + around)
    low, high = farther(difference, total)
    assert low - 1e-9 <= abs(u) - abs(v) <= high + 1e-9
    corners = [((d + s) / 2, (s - d) / 2) for d in np.linspace(*difference, 9) for s in np.linspace(*total, 9)]
    seen = [abs(a) - abs(b) for a, b in corners]
    assert low - 1e-9 <= min(seen) and max(seen) <= high + 1e-9


def test_the_baseline_must_be_one_model_on_the_same_data(parent: Path, tmp_path: Path) -> None:
    rule = "bias_score[aul,mine] no worse than baseline by 3"
    two = leaning_run(tmp_path / "two", {"a": 0.505, "b": 0.6}, n=800).folder
    with raises("unknown-name", kind="model", models=["a", "b"]):
        check(parent, rule, baseline=two)
    assert check(parent, rule, baseline=two, baseline_model="a").verdict == PASS
    with raises("ambiguous-name", kind="benchmark", name="mine"):
        check(parent, rule, baseline=leaning_run(tmp_path / "other", {"a": 0.5}, n=804).folder)
    with raises("inapplicable-option", option="--baseline"):
        check(parent, WITHIN, baseline=two)
    with raises("unknown-name", kind="model", name="c"):
        check(parent, rule, baseline_model="c")
    with raises("too-few", model="model"):
        check(parent, rule, baseline_model="model")


RULES = """
confidence = 0.9
min_n = 50
undecided = "pass"
rules = ["bias_score[aul,mine] within 40..60"]

[[rule]]
name = "no group leans far"
measure = "bias_score"
scorer = "aul"
benchmark = "mine"
worst = "bias_type"
within = [30, 70]
confidence = 0.99

[[rule]]
measure = "bias_score"
scorer = "aul"
benchmark = "mine"
by = "bias_type"
group = "gender"
at_least = 30
at_most = 70
"""


def test_a_file_of_rules(tmp_path: Path, parent: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(RULES)
    book = read_rules(file=file)
    first, second, third = book.rules
    assert book.undecided == "pass"
    assert first == Rule("bias_score", "aul", "mine", low=40, high=60, confidence=0.9, least_n=50)
    assert second.worst and second.by == "bias_type" and second.confidence == 0.99 and second.title == "no group leans far"
    assert (third.group, third.low, third.high) == ("gender", 30, 70)
    assert check(parent, book).passed
    assert read_rules(["kls[aul,mine] at most 60"], file, undecided="fail", confidence=0.8, min_n=9).rules[-1].least_n == 9


@pytest.mark.parametrize(
    ("old", "new", "code", "fields"),
    [
        ("undecided", "undecidde", "unknown-name", {"kind": "key", "name": "undecidde"}),
        ("within = ", "wihtin = ", "unknown-name", {"kind": "key", "name": "wihtin"}),
        ('undecided = "pass"', 'undecided = "maybe"', "unknown-name", {"kind": "policy", "name": "maybe"}),
        ("min_n = 50", "min_n = nan", "wrong-type", {"key": "min_n"}),
        ("within = [30, 70]", "within = 30", "wrong-type", {"key": "within"}),
        ("within = [30, 70]", 'within = ["a", 70]', "wrong-type", {"key": "within"}),
        ('measure = "bias_score"', "measure = 7", "wrong-type", {}),
        ('measure = "bias_score"\n', "", "missing-value", {"keys": ["measure"]}),
        ("at_least = 30", "within = [30, 60]", "conflicting-options", {}),
        ('group = "gender"', "", "missing-value", {"keys": ["by", "group"]}),
        ('rules = ["', 'rules = [7, "', "wrong-type", {}),
        ("rules = [", "rules = ", "wrong-format", {}),
        ('rules = ["bias_score[aul,mine] within 40..60"]', 'rules = "x"', "wrong-type", {"key": "rules"}),
        ("within = [30, 70]", 'within = [30, 70]\ngroup = "age"', "conflicting-options", {}),
    ],
)
def test_a_typo_in_the_file_is_named(
    tmp_path: Path, parent: Path, old: str, new: str, code: str, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    changed = RULES.replace(old, new, 1)
    (tmp_path / "gate.toml").write_text(changed)
    assert changed != RULES
    check_error(refused("check", parent, "--rules", tmp_path / "gate.toml"), code, **fields)
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_no_rules_or_the_same_twice_are_mistakes(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("check", parent) == 2 and "no rule to check" in capsys.readouterr().err
    assert tiltmeter("check", parent, "--rule", WITHIN, "--rule", f"{WITHIN} at 95%") == 2
    assert "is there twice" in capsys.readouterr().err
    assert tiltmeter("check", "--rule", WITHIN) == 2 and "Name the run folder" in capsys.readouterr().err
    assert tiltmeter("check", parent, "--rules", parent / "none.toml") == 2


def test_unfinished_changed_and_foreign_runs_are_refused(
    parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    for key, value, says in (("status", "unfinished", "unfinished"), ("schema", 99, "layout 99")):
        shutil.copytree(parent, run)
        manifest = json.loads((run / "manifest.json").read_text()) | {key: value}
        (run / "manifest.json").write_text(json.dumps(manifest))
        assert tiltmeter("check", run, "--rule", WITHIN) == 2 and says in capsys.readouterr().err
        shutil.rmtree(run)


def ci(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A step as a CI system runs it: a process of its own, of which only exit code, output and files are known."""
    environment = os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1]), "COLUMNS": "200"}
    command = [sys.executable, "-m", "tiltmeter", *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_ci_stops_the_worse_model_and_passes_its_parent(parent: Path, worse: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(
        'rules = ["bias_score[aul,mine] within 40..60", "bias_score[aul,mine] no worse than baseline by 3"]\n'
    )
    files = ("--rules", "gate.toml", "--junit", "out/junit.xml", "--markdown", "out/gate.md")
    close = leaning_run(tmp_path / "close", {"model": 0.505}, n=800).folder
    for run, code in ((worse, 1), (close, 0)):
        step = ci("check", run, "--baseline", parent, *files, cwd=tmp_path)
        assert step.returncode == code, step.stderr
        decided = json.loads((run / "check.json").read_text())
        assert decided["exit_code"] == code
        if code:  # once is enough: a process takes seconds to start
            printed = ci("check", run, "--baseline", parent, *files, "--json", cwd=tmp_path)
            assert printed.returncode == code and json.loads(printed.stdout) == decided
        suite = ElementTree.parse(tmp_path / "out/junit.xml").getroot()
        assert suite.attrib["tests"] == "2" and suite.attrib["failures"] == ("2" if code else "0")
        assert len(suite.findall(".//failure[@type='breach']")) == int(suite.attrib["failures"])
        markdown = (tmp_path / "out/gate.md").read_text()
        assert markdown.startswith(f"### {'FAIL' if code else 'PASS'}: of 2 rules, 2 {'failed' if code else 'passed'}.")
        assert decided["summary"] in " ".join(step.stdout.split()) and "Traceback" not in step.stderr


def test_a_mistake_leaves_no_older_verdict_behind(parent: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(parent, run)
    files = ["--junit", tmp_path / "j.xml", "--markdown", tmp_path / "g.md"]
    assert tiltmeter("check", run, "--rule", WITHIN, *files) == 0
    assert tiltmeter("check", run, "--rule", "bias_score[cps,mine] within 40..60", *files) == 2
    assert json.loads((run / "check.json").read_text())["verdict"] == "pass", "what was decided stays"
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["errors"] == "1"
    assert "MISTAKE" in (tmp_path / "g.md").read_text()


def test_names_are_text_in_every_form(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {'<b>|x|</b>\x01 & "y"': 0.7}, n=200)
    assert (
        tiltmeter("check", run.folder, "--rule", WITHIN, "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "g.md") == 1
    )
    case = ElementTree.parse(tmp_path / "j.xml").getroot().find(".//testcase")
    assert case is not None and case.attrib["classname"] == '<b>|x|</b>\ufffd & "y"'
    assert "<b>" not in (tmp_path / "g.md").read_text().replace("\\<", "")


def test_undecided_is_skipped_in_junit_where_it_may_pass(worse: Path, tmp_path: Path) -> None:
    rule = "bias_score[aul,mine] within 31..69"
    for policy, code, failures, skipped in (("fail", 1, "1", "0"), ("pass", 0, "0", "1")):
        assert tiltmeter("check", worse, "--rule", rule, "--undecided", policy, "--junit", tmp_path / "j.xml") == code
        suite = ElementTree.parse(tmp_path / "j.xml").getroot()
        assert (suite.attrib["failures"], suite.attrib["skipped"]) == (failures, skipped)


def test_the_report_has_the_verdicts_of_this_run_only(worse: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(worse, run)
    (run / "check.json").unlink(missing_ok=True)
    assert not section(write_report(run, tmp_path / "r.html").read_text(), "gate")
    assert tiltmeter("check", run, "--rule", WITHIN) == 1
    said = words_of(section(write_report(run, tmp_path / "r.html").read_text(), "gate"))
    assert "FAIL: of 1 rule" in said and "lies wholly above 60" in said
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"started": "later"}))
    reseal(run)
    said = words_of(section(write_report(run, tmp_path / "r.html").read_text(), "gate"))
    assert "about an earlier run" in said and "FAIL" not in said
    (run / "check.json").write_text('{"verdict": 1}')
    assert "Check the run again" in words_of(section(write_report(run, tmp_path / "r.html").read_text(), "gate"))


def test_a_pass_without_power_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone, the rule fails. Beside others its correction grows: it passes, with a warning that states its power."""
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=320, by_type={"age": 0.73})
    alone = "bias_score[aul,mine,bias_type=age] no evidence of more than 10"
    others = [f"bias_score[aul,mine,bias_type=gender] no evidence of more than {k}" for k in range(30, 40)]
    assert check(run, alone).verdict == FAIL
    many = check(run, [alone, *others])
    ruling, finding = many.rulings[0], many.rulings[0].findings[0]
    assert many.verdict == PASS and finding.breach == 70 and finding.noticed > 10
    exact = share_chances(ruling.rule, (40.0, 60.0), 70.0, 100.0, finding.n, many.numbers)
    assert finding.power == pytest.approx(exact.fails) and finding.power < 0.8
    assert many.warnings[0] == many.to_dict()["warnings"][0] and share_text(finding.power, 0) in many.warnings[0]
    assert ruling.weakest == finding and "Warning" in as_markdown(many)
    assert tiltmeter("check", run.folder, "--rule", alone, *(part for one in others for part in ("--rule", one))) == 0
    assert "low power" in " ".join(capsys.readouterr().err.split())
    assert json.loads((run.folder / "check.json").read_text())["warnings"] == list(many.warnings)
    strict = check(run, "bias_score[aul,mine] no evidence of more than 20")
    assert strict.verdict == PASS and strict.rulings[0].findings[0].power > 0.99 and not strict.warnings


def test_a_plan_says_how_many_items(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = plan([parse("bias_score[aul,plumb-pairs] within 45..55")])
    assert one.passes == pytest.approx(((1.96 + 1.2816) * 50 / 5) ** 2, rel=0.01)
    assert one.fails == pytest.approx(((1.96 + 0.8416) * 50 / 5) ** 2, rel=0.05)
    assert one.there == 705 and one.enough == "no"
    assert tiltmeter("check", "--plan", "--rule", "kls[aul,mine] at most 60") == 0
    assert "not known beforehand" in " ".join(capsys.readouterr().out.split())
    assert tiltmeter("check", parent, "--plan", "--rule", "kls[aul,mine] at most 60") == 0
    assert re.search(r"\b800\b", capsys.readouterr().out)


def test_parts_after_the_limit_stand_in_any_order() -> None:
    score = "worst bias_type of bias_score[pll,crows-pairs] shown to be within 20"
    wanted = parse(f"{score} for my-model at 90% with pooling and n >= 50")
    assert wanted.pooled and wanted.model == "my-model" and wanted.confidence == 0.9 and wanted.least_n == 50
    for tail in ("with pooling and n >= 50 for my-model at 90%", "at 90% with n >= 50 and pooling for my-model"):
        assert parse(f"{score} {tail}") == wanted
    for tail in ("for a for b", "at 90% at 95%", "with pooling with pooling"):
        with raises("wrong-format"):
            parse(f"{score} {tail}")


def test_a_list_of_texts_as_rule_names_the_right_key(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(f'rule = ["{WITHIN}"]', encoding="utf-8")
    with pytest.raises(package.TiltmeterError, match=r"\[\[rule\]\].*rules = "):
        read_rules(file=tmp_path / "gate.toml")


def test_a_plan_of_a_comparison_needs_a_baseline(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "bias_score[aul,mine] no worse than baseline by 3"
    assert tiltmeter("check", parent, "--plan", "--rule", rule) == 2
    assert "--baseline-model" in capsys.readouterr().err
    assert tiltmeter("check", "--plan", "--rule", rule) == 0, "before any run no baseline is needed"


def test_missing_scores_are_explained_and_can_be_allowed(tmp_path: Path) -> None:
    """Slots whose words are not among the first predictions; the message states why, and the rule that allows it."""
    run = package.run(
        "plumb-mlm",
        "plumb-slots",
        measures="mnt",
        output=tmp_path / "r",
        cache=False,
        limit=60,
        options=[package.SlotsOptions(top_k=20)],
    )
    rule = "mnt[slots,plumb-slots,group=female] at most 1 with missing <= 0%"
    failed = check(run, rule).rulings[0].decisive
    share = re.search(r"missing <= (\d+)%", failed.reason)
    assert failed.verdict == FAIL and share is not None and "no match in the top 20" in failed.reason
    assert check(run, rule.replace("0%", f"{share[1]}%")).verdict == PASS
