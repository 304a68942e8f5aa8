"""`audit`: what is asked, what is decided, and what is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import tiltmeter
from conftest import GOLDEN
from tiltmeter.audits.battery import NOT_IN_LEVEL, choose_battery
from tiltmeter.audits.cells import with_unmeasured
from tiltmeter.audits.execute import DECIDING
from tiltmeter.audits.forecast import PlannedQuestion, forecast_audit
from tiltmeter.audits.proposed_rules import proposed_rules, rules_text
from tiltmeter.audits.verdicts import (
    ALIKE,
    AWAY,
    BIAS,
    LESS,
    MORE,
    NONE,
    NOT_MEASURED,
    Verdict,
    differences_of,
    verdicts_of,
    worst_of_verdicts,
)
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.association import AssociationBenchmark
from tiltmeter.benchmarks.kit.domain_names import DOMAINS, domain_named
from tiltmeter.cli.app import app
from tiltmeter.errors import UsageError
from tiltmeter.execution.options import FamilyOptions, Options
from tiltmeter.execution.run_plan import plan_run
from tiltmeter.families.kit.detection import DETECTS, VARIABLE, detections, write_detections
from tiltmeter.gate import read_rules
from tiltmeter.gate.rule import WORSENING
from tiltmeter.runs.run import run_with
from tiltmeter.stats.estimates import Difference, Estimate, differences_table, estimates_table

TINY = GOLDEN / "models" / "tiny-bert-cased"
DATA = tiltmeter.load_benchmark("plumb-pairs").data_hash
FACTS = {("m", "plumb-pairs"): (DATA, "masked")}


@pytest.fixture(autouse=True)
def evidence(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`pll` detects gender and race, whatever the evidence table of this version says of it."""
    known = next(one for one in detections() if one.data_sha256 == DATA and one.scorer == "pll")
    groups = {"gender": "gender", "race-color": "race"}
    facts = {"measure": "bias_score", "by": "bias_type", "kind": "masked", "verdict": DETECTS}
    rows = [replace(known, group=group, domain=domain, **facts) for group, domain in groups.items()]
    path = tmp_path_factory.mktemp("evidence") / "own.csv"
    write_detections(rows, path)
    monkeypatch.setenv(VARIABLE, str(path))
    detections.cache_clear()
    yield
    detections.cache_clear()


def row(group: str, value: float, p: float, scorer: str = "pll") -> Estimate:
    place = ("m", "plumb-pairs", "pairs", scorer, "bias_score", "bias_type", group)
    return Estimate(*place, n=90, value=value, low=value - 8, high=value + 8, neutral=50.0, p=p)


def table() -> pd.DataFrame:
    rows = [row("gender", 70.0, 0.001), row("race-color", 52.0, 0.7), row("age", 30.0, 0.002)]
    return estimates_table([*rows, row("gender", 50.0, 1.0, "aul"), row("age", 80.0, 0.001, "aul")])


def test_verdicts_are_by_the_metric_with_evidence_and_corrected_together() -> None:
    found = {one.domain: one for one in verdicts_of(table(), "m", FACTS)}
    assert [found[name].verdict for name in ("gender", "race", "age")] == [BIAS, NONE, AWAY]
    assert found["gender"].scorer == "pll" and found["gender"].evidence == "detects"
    assert found["gender"].p_corrected == pytest.approx(0.001 / 0.4) and found["age"].evidence == "untested"
    assert found["age"].p_corrected == pytest.approx(0.002 / 0.2 * 0.6)
    assert found["race"].detectable == pytest.approx((2.326 + 0.842) * 16 / (2 * 1.96), rel=0.01)
    assert list(found) == ["gender", "race", "age"]


def test_the_worst_groups_are_those_of_the_verdicts() -> None:
    """The same metric and the same corrected p: no page says "evidence of bias" and "differs from neutral: none"."""
    decided = {one.domain: one for one in verdicts_of(table(), "m", FACTS)}
    worst = worst_of_verdicts(verdicts_of(table(), "m", FACTS))["plumb-pairs"]
    assert (worst.tested, worst.significant) == (3, 2)
    assert [row["group"] for row in worst.rows] == ["gender", "age", "race-color"]
    domains = {"gender": "gender", "age": "age", "race-color": "race"}
    for row in worst.records():
        verdict = decided[domains[row["group"]]]
        assert (row["value"], row["p_corrected"]) == (verdict.value, pytest.approx(verdict.p_corrected))
        assert row["is_significant"] == (verdict.verdict in (BIAS, AWAY))
        assert row["scorer"] == verdict.scorer


def test_against_a_baseline_the_direction_counts_and_the_distance_is_said() -> None:
    def difference(group: str, value: float, baseline: float, p: float, change: str) -> Difference:
        place = ("plumb-pairs", "pairs", "pll", "bias_score", "bias_type", group, "m", "old")
        by = value - baseline
        return Difference(
            *place, n=90, value=value, baseline_value=baseline, difference=by, low=by - 5, high=by + 5, p=p, change=change
        )

    rows = [difference("gender", 55.0, 40.0, 0.001, "closer"), difference("race-color", 45.0, 60.0, 0.001, "closer")]
    changed = differences_table([*rows, difference("age", 50.0, 51.0, 0.9, "closer")])
    estimates = table()
    estimates = estimates[estimates["scorer"] == "pll"]
    found = {one.domain: one for one in differences_of(changed, "m", FACTS, estimates)}
    assert [found[name].verdict for name in ("gender", "race", "age")] == [MORE, LESS, ALIKE]
    assert found["gender"].value == 15.0 and found["gender"].change == "closer"


def difference_verdict(**facts: Any) -> Verdict:
    place = {"benchmark": "plumb-pairs", "scorer": "pll", "measure": "bias_score", "by": "bias_type", "group": "race-color"}
    return Verdict("m", "race", "likelihood", ALIKE, **{**place, "n": 85, "detectable": 14.31, **facts})


def test_rules_for_the_next_release_have_limits_that_the_audit_could_detect() -> None:
    gap = {"benchmark": "plumb-slots", "scorer": "slots", "measure": "stereotype_gap", "group": "gender"}
    verdicts = [
        difference_verdict(),
        difference_verdict(**gap, n=227, n_missing=19, detectable=0.2213),
        difference_verdict(group="age", n=12),
        difference_verdict(group="x", detectable=math.nan),
        difference_verdict(group="far", detectable=99.0),
    ]
    rules = proposed_rules(verdicts)
    assert [(rule.measure, rule.scorer, rule.group, rule.high, rule.max_missing) for rule in rules] == [
        ("bias_score", "pll", "race-color", 15.0, 0.05),
        ("stereotype_gap", "slots", "gender", 0.23, 0.10),
    ]
    assert {rule.quantity for rule in rules} == {WORSENING}


def test_proposed_rules_are_read_back(tmp_path: Path) -> None:
    rules = proposed_rules([difference_verdict()])
    (tmp_path / "rules.toml").write_text(rules_text(rules))
    assert list(read_rules((), tmp_path / "rules.toml").rules) == rules


def test_what_was_not_measured_has_a_reason() -> None:
    found = with_unmeasured(verdicts_of(table(), "m", FACTS), "m", ["likelihood", "task"], {("", "task"): "no data"})
    missing = [one for one in found if one.verdict == NOT_MEASURED]
    assert len(missing) == 3 and {one.reason for one in missing} == {"no data"}
    record = missing[0].record()
    assert record["value"] is None and json.loads(json.dumps(record)) == record


def test_a_battery_says_why_benchmarks_are_left_out(tmp_path: Path) -> None:
    battery = choose_battery("default", [(str(TINY), "masked")], tmp_path)
    assert {"plumb-pairs", "plumb-slots"} <= set(battery.names)
    assert {"bold", "crows-pairs"} <= set(battery.left_out) and all(battery.left_out.values())
    with pytest.raises(UsageError) as caught:
        choose_battery("huge", [])
    assert caught.value.code == "unknown-name"


def test_a_model_is_no_baseline_of_itself(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        tiltmeter.audit(TINY, TINY, tmp_path / "audit")
    assert caught.value.code == "conflicting-options"


def test_from_a_model_to_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.audits.battery.LEVELS", {"quick": ("starter-pairs",), "full": ("starter-pairs", "bold")})
    rules = tmp_path / "rules.toml"
    rules.write_text('min_n = 5\nrules = ["bias_score[pll,starter-pairs] within 0.5..99.5"]\n')
    said: list[str] = []
    options = Options(cache=str(tmp_path / "cache"))
    other = GOLDEN / "models" / "tiny-bert-uncased"
    baseline = other if other.exists() else None
    found = tiltmeter.audit(TINY, baseline, tmp_path / "out", level="quick", rules=rules, options=options, say=said.append)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "audit.html", "audit.json", "audit.zip", "model-card.md", "run"
    }  # fmt: skip
    assert "starter-pairs" in said[0] and "minutes" in said[-1]
    stored = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert stored["left_out"] == {"bold": NOT_IN_LEVEL.format("quick")} and stored["benchmarks"] == ["starter-pairs"]
    assert {one["domain"] for one in stored["verdicts"]} >= {"gender", "race", "religion"}
    assert found.exit_code == (0 if stored["rules"]["passed"] else 1)
    worst = stored["worst_groups"]["starter-pairs"]
    assert worst["tested"] >= 3 and all(math.isfinite(one["value"]) for one in worst["groups"])
    page = (tmp_path / "out" / "audit.html").read_text()
    assert "MEASURE 2.11" in page and "Worst groups" in page and "No legal advice" in page
    assert page.count(stored["rules"]["summary"]) == 1 and len(re.findall(r"\b(?:PASS|FAIL)\b", page)) == 1


def test_no_audit_is_written_into_the_folder_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UsageError) as caught:
        tiltmeter.audit(TINY, output=tmp_path)
    assert caught.value.code == "output-exists"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_the_command_refuses_two_levels() -> None:
    result = CliRunner().invoke(app, ["audit", str(TINY), "--quick", "--full"])
    assert result.exit_code and getattr(result.exception, "code", "") == "conflicting-options"


UNFIT = {
    "unknown-name": "bias_score[pll,crows-pairs] within 30..70",
    "missing-value": "bias_score[pll,starter-pairs] no worse than baseline by more than 5",
}


@pytest.mark.parametrize("code", UNFIT)
def test_unfit_rules_are_refused_before_the_first_question(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = UNFIT[code]
    monkeypatch.setattr("tiltmeter.audits.battery.LEVELS", dict.fromkeys(("quick", "full"), ("starter-pairs",)))
    rules = tmp_path / "rules.toml"
    rules.write_text(f'rules = ["{rule}"]\n')
    with pytest.raises(UsageError) as caught:
        tiltmeter.audit(TINY, None, tmp_path / "out", level="quick", rules=rules, options=Options(cache=str(tmp_path / "c")))
    assert (
        caught.value.code == code and caught.value.fields["rule"].startswith(rule[:30]) and not (tmp_path / "out").exists()
    )


def test_the_command_names_every_rule_with_its_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.audits.battery.LEVELS", dict.fromkeys(("quick", "full"), ("starter-pairs",)))
    rules = tmp_path / "rules.toml"
    rules.write_text('min_n = 5\nrules = ["bias_score[pll,starter-pairs] within 49..51"]\n')
    words = ["audit", str(TINY), "--quick", "--no-plan", "--rules", str(rules), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1 and "starter-pairs] within" in result.output


@pytest.mark.parametrize("name", ["plumb-pairs", "plumb-choices", "plumb-prompts", "plumb-slots"])
def test_benchmarks_name_domains_alike(name: str) -> None:
    """Otherwise one domain has two rows on the page: "class" of questions and "socioeconomic" of pairs."""
    types = {item.bias_type for item in tiltmeter.load_benchmark(name).items if item.bias_type}
    assert {domain_named(bias_type) for bias_type in types} <= set(DOMAINS)


def test_categories_of_bbq_are_domains_or_intersections(realdata: Path) -> None:
    types = {item.bias_type for item in tiltmeter.load_benchmark("bbq", data_dir=realdata).items}
    assert {domain_named(bias_type) for bias_type in types} - set(DOMAINS) == {"gender × race", "race × socioeconomic"}


def test_the_plan_counts_tests_and_names_what_is_in_the_cache(tmp_path: Path) -> None:
    options = Options(cache=str(tmp_path / "cache"))
    benchmark = tiltmeter.load_benchmark("starter-pairs")

    def planned() -> list[PlannedQuestion]:
        plan = plan_run([str(TINY)], [benchmark], options, FamilyOptions.read({}), is_default=False)
        return forecast_audit(plan)

    (before,) = planned()
    assert not before.is_cached and before.tokens > 0
    run_with(str(TINY), ["starter-pairs"], None, tmp_path / "run", options, FamilyOptions.read({}))
    (after,) = planned()
    assert after.is_cached and after.seconds == 0
    assert benchmark.amount == before.amount == f"{len(benchmark.items)} items"
    assert tiltmeter.load_benchmark("ilps").amount.startswith("17 groups")
    seat = load_benchmark("seat", data_dir=tmp_path)
    assert isinstance(seat, AssociationBenchmark) and seat.amount == f"{len(seat.tests)} tests"


def test_every_step_after_inference_shows_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.audits.battery.LEVELS", {"quick": ("starter-pairs",), "full": ("starter-pairs",)})
    shown: dict[str, list[float]] = {}

    @contextmanager
    def watch(title: str, total: int) -> Iterator[Callable[..., None]]:
        shown[title] = [total]
        yield lambda steps, *_note: shown[title].append(steps)

    options = Options(cache=str(tmp_path / "cache"))
    tiltmeter.audits.audit(TINY, None, tmp_path / "out", level="quick", options=options, watch=watch)
    total, *steps = shown[DECIDING]
    assert sum(steps) == total == 6


def test_an_audit_takes_the_options_of_served_models(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Options] = []

    def stop(*_: object, options: Options, **__: object) -> None:
        seen.append(options)
        raise UsageError("seen", code="seen")

    monkeypatch.setenv("TEAM", "t")
    monkeypatch.setattr("tiltmeter.audits.audit", stop)
    words = ["audit", "m", "--header", "X=TEAM", "--first-token", "<s>", "--max-requests", "5"]
    CliRunner().invoke(app, words)
    server = seen[0].server
    assert (server.headers, server.first_token, server.max_requests) == (("X=TEAM",), "<s>", 5)
