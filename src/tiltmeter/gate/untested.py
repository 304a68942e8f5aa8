"""Warnings about rules on metrics that did not detect a planted bias, or that were not tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiltmeter.families.kit.detection import DETECTS, UNTESTED, rows_about, verdict_on
from tiltmeter.families.kit.primary import benchmark_of
from tiltmeter.gate.rule import Rule
from tiltmeter.runs import Run


def evidence_warnings(rules: Sequence[Rule], run: Run) -> Iterator[str]:
    """Warn of each rule whose metric has no detection in the evidence table, for the items and models of a run."""
    for rule in rules:
        for verdict in sorted({_verdict(rule, one) for one in run.manifest.get("evaluations", ()) if _is_about(rule, one)}):
            metric = f"{rule.measure} by {rule.scorer} on {rule.benchmark}"
            if verdict == UNTESTED:
                yield f"{rule.text}: there is no test of whether {metric} detects a planted bias."
            elif verdict != DETECTS:
                yield f"{rule.text}: {metric} did not detect a planted bias ({verdict}; docs/calibration.md)."


def _is_about(rule: Rule, evaluation: object) -> bool:
    return isinstance(evaluation, dict) and benchmark_of(evaluation) == rule.benchmark


def _verdict(rule: Rule, evaluation: dict[str, dict[str, str]]) -> str:
    facts, model = evaluation.get("benchmark", {}), evaluation.get("model", {})
    return verdict_on(rows_about(facts.get("data_sha256", ""), model.get("kind", "")), rule.scorer, rule.measure)
