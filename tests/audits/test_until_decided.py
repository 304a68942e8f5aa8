"""`audit --until-decided`: rules by domain, items in a fixed order, and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from support.small_server import SmallServer
from tiltmeter.audits.until_decided import audit_until_decided, domain_rules
from tiltmeter.cli.app import app
from tiltmeter.errors import UsageError
from tiltmeter.execution.options import Options
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.rule import SHOWN, WORSENING

TINY = GOLDEN / "models" / "tiny-bert-cased"
OTHER = GOLDEN / "models" / "tiny-albert"


def test_a_rule_for_each_domain_by_the_scorer_with_evidence() -> None:
    pairs = [tiltmeter.load_benchmark("plumb-pairs"), tiltmeter.load_benchmark("plumb-slots")]
    rules = list(domain_rules(pairs, "masked", 20.0, False))
    parsed = [parse(rule) for rule in rules]
    assert len(rules) == 9 and {(rule.benchmark, rule.form, rule.high) for rule in parsed} == {("plumb-pairs", SHOWN, 20.0)}
    assert ("bias_score", "pll", "gender") in {(rule.measure, rule.scorer, rule.group) for rule in parsed}
    paired = [parse(rule) for rule in domain_rules(pairs, "masked", 5.0, True)]
    assert {(rule.quantity, rule.high) for rule in paired} == {(WORSENING, 5.0)}


def rules_file(folder: Path, limit: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(f'min_n = 10\nrules = ["bias_score[pll,plumb-pairs,bias_type=gender] {limit}"]\n')
    return path


def test_it_stops_early_and_again_gives_the_same(tmp_path: Path) -> None:
    options = Options(cache=str(tmp_path / "cache"))
    rules = rules_file(tmp_path, "shown to be within 45")
    first = audit_until_decided(TINY, None, tmp_path / "one", level="quick", rules=rules, options=options)
    assert 0 < first.decision.items_read < first.decision.items and first.decision.verdict in ("pass", "fail")
    again = audit_until_decided(TINY, None, tmp_path / "two", level="quick", rules=rules, options=options)
    assert again.decision == first.decision and again.exit_code == first.exit_code
    stored = json.loads((tmp_path / "one" / "audit.json").read_text("utf-8"))
    assert stored["decision"]["asked"] == first.decision.items_read and stored["level"] == "quick"
    assert first.headline == first.decision.summary
    assert "<table" in (tmp_path / "one" / "audit.html").read_text("utf-8")


def test_a_budget_is_kept_and_a_baseline_is_paired(tmp_path: Path) -> None:
    options = Options(cache=str(tmp_path / "cache"))
    rules = rules_file(tmp_path, "no worse than baseline by more than 1")
    found = audit_until_decided(TINY, OTHER, tmp_path / "out", level="quick", rules=rules, budget=20, options=options)
    assert found.decision.items_read == 20 and found.decision.baseline == "tiny-albert"
    assert found.decision.verdict == "undecided" and found.exit_code == 1


def test_rules_fit_a_model_whose_kind_only_its_server_shows(tmp_path: Path) -> None:
    """The scorer with the best evidence in a domain may be one for masked models."""
    rules: list[str] = []
    with SmallServer() as server:
        found = audit_until_decided(
            server.address, None, tmp_path / "out", level="quick", budget=15,
            options=Options(cache=str(tmp_path / "cache")), say=rules.append,
        )  # fmt: skip
    assert {parse(rule).scorer for rule in rules} == {"causal"} and found.decision.items_read == 15


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--margin", "5"], "inapplicable-option"), (["--budget", "9"], "inapplicable-option"),
     (["--until-decided", "--price", "1"], "inapplicable-option"), (["--until-decided", "--margin", "0"], "out-of-range"),
     (["--until-decided", "--budget", "0"], "out-of-range")],
)  # fmt: skip
def test_options_without_effect_are_refused(words: list[str], code: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["audit", str(TINY), "--quick", "-o", str(tmp_path / "out"), *words])
    assert isinstance(found.exception, UsageError) and found.exception.code == code and not (tmp_path / "out").exists()


def test_a_kind_of_model_without_evidence_has_no_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.audits.until_decided.domain_rules", lambda *_: iter(()))
    with raises("empty-selection", UsageError, level="quick"):
        audit_until_decided(TINY, None, tmp_path / "out", level="quick")
