"""Warnings about evidence: a rule is warned of for the models that it checks, and for no other."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from test_cli import tiltmeter
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.families.kit.detection import BOUNDED, DETECTS, detections
from tiltmeter.gate.grammar import parse
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.untested import evidence_warnings

MODELS = {"plumb-mlm": ("masked", "pll"), "plumb-clm": ("causal", "causal")}


def mixed_run(data: str) -> Any:
    """A masked and a causal model on the same items, each by its own scorer."""
    evaluations = [
        {"model": {"shown_as": name, "kind": kind}, "benchmark": {"name": "crows-pairs", "data_sha256": data}}
        for name, (kind, _) in MODELS.items()
    ]
    rows = [{"model": name, "benchmark": "crows-pairs", "scorer": scorer} for name, (_, scorer) in MODELS.items()]
    return SimpleNamespace(limit=None, manifest={"evaluations": evaluations}, estimates=pd.DataFrame(rows))


def data_of(scorer: str, verdict: str) -> str:
    return next(row.data_sha256 for row in detections() if row.metric == (scorer, "bias_score") and row.verdict == verdict)


def test_a_model_of_another_kind_does_not_make_a_rule_untested() -> None:
    run = mixed_run(data_of("pll", DETECTS))
    for model in ("", "plumb-mlm"):
        rule = Rule("bias_score", "pll", "crows-pairs", high=60.0, model=model)
        assert list(evidence_warnings([rule], run)) == []


def test_a_metric_without_evidence_is_warned_of_once() -> None:
    rule = Rule("bias_score", "pll", "crows-pairs", high=60.0)
    assert len(list(evidence_warnings([rule], mixed_run("no such items")))) == 1


def test_a_metric_that_detected_nothing_is_warned_of() -> None:
    run = mixed_run("")
    silent = next(
        row
        for row in detections()
        if row.verdict == BOUNDED
        and not any(
            other.verdict == DETECTS and other.metric == row.metric and other.data_sha256 == row.data_sha256
            for other in detections()
        )
        and row.kind == "masked"
    )
    run.estimates["scorer"] = silent.scorer
    for evaluation in run.manifest["evaluations"]:
        evaluation["benchmark"]["data_sha256"] = silent.data_sha256
    rule = Rule(silent.measure, silent.scorer, "crows-pairs", high=60.0, model="plumb-mlm")
    assert len(list(evidence_warnings([rule], run))) == 1


def test_evidence_is_read_about_the_domain_of_a_rule() -> None:
    """A metric that detects one domain and not another is warned of where a rule is about the other."""
    by_metric: dict[tuple[str, str], dict[str, str]] = {}
    for row in detections():
        if row.measure == "bias_score" and row.kind == "masked" and row.group:
            by_metric.setdefault((row.scorer, row.data_sha256), {})[row.group] = row.verdict
    (scorer, data), groups = next(
        (key, found) for key, found in by_metric.items() if DETECTS in found.values() and set(found.values()) != {DETECTS}
    )
    run = mixed_run(data)
    run.estimates["scorer"] = scorer
    for group, verdict in groups.items():
        rule = Rule("bias_score", scorer, "crows-pairs", by="bias_type", group=group, high=60.0, model="plumb-mlm")
        assert len(list(evidence_warnings([rule], run))) == (verdict != DETECTS), group
    whole = Rule("bias_score", scorer, "crows-pairs", high=60.0, model="plumb-mlm")
    assert not list(evidence_warnings([whole], run))


def test_a_plan_warns_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    for scorer, count in (("sss", 0), ("aul", 0), ("aula", 1)):
        assert (
            tiltmeter("check", "--plan", "--json", "--rule", f"bias_score[{scorer},plumb-pairs] shown to be within 5") == 0
        )
        assert len(json.loads(capsys.readouterr().out)["warnings"]) == count


def test_a_rule_about_every_bias_type_warns_of_those_that_nobody_calibrated(capsys: pytest.CaptureFixture[str]) -> None:
    """plumb-pairs has nine bias types, and biases of three were planted; the worst may be another."""
    rule = parse("worst bias_type of bias_score[sss,plumb-pairs] shown to be within 25")
    (planned,) = evidence_warnings([rule])
    run = mixed_run(tiltmeter_data("plumb-pairs"))
    run.manifest["evaluations"] = [run.manifest["evaluations"][0]]
    run.manifest["evaluations"][0]["benchmark"]["name"] = "plumb-pairs"
    types = ("age", "disability", "gender")
    run.estimates = pd.DataFrame([{"model": "plumb-mlm", "benchmark": "plumb-pairs", "scorer": "sss"}])
    items = pd.DataFrame({"benchmark": "plumb-pairs", "item": list(types), "bias_type": list(types)})
    run.answers = {"pairs": SimpleNamespace(items=items)}
    (measured,) = evidence_warnings([rule], run)
    for warning, untested in ((planned, ("age", "disability", "nationality")), (measured, types[:2])):
        assert all(name in warning for name in untested) and "gender" not in warning
    assert tiltmeter("check", "--plan", "--json", "--rule", rule.text) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [planned]


def tiltmeter_data(benchmark: str) -> str:
    return load_benchmark(benchmark).data_hash


def test_a_truncated_run_is_said_to_be_one() -> None:
    rule, run = Rule("bias_score", "pll", "crows-pairs", high=60.0), mixed_run("no such items")
    assert "--limit" not in next(evidence_warnings([rule], run))
    run.limit = 5
    assert "--limit 5" in next(evidence_warnings([rule], run))
