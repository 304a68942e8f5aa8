"""Warnings about rules on metrics that did not detect a planted bias, or that were not tested."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tiltmeter.families.kit.detection import DETECTS, UNTESTED, rows_about, verdict_on
from tiltmeter.families.kit.primary import benchmark_of, model_of
from tiltmeter.gate.rule import Rule
from tiltmeter.runs import Run


def evidence_warnings(rules: Sequence[Rule], run: Run) -> Iterator[str]:
    """Warn of each rule whose metric has no detection in the evidence table, for the items and models that it checks."""
    estimates = run.estimates[["model", "benchmark", "scorer"]].drop_duplicates()
    scored = {(str(model), str(benchmark), str(scorer)) for model, benchmark, scorer in estimates.itertuples(index=False)}
    for rule in rules:
        checked = [one for one in run.manifest.get("evaluations", ()) if _is_about(rule, one, scored)]
        for verdict in sorted({_verdict(rule, one) for one in checked}):
            metric = f"{rule.measure} by {rule.scorer} on {rule.benchmark}"
            if verdict == UNTESTED:
                yield f"{rule.text}: there is no test of whether {metric} detects a planted bias."
            elif verdict != DETECTS:
                yield f"{rule.text}: {metric} did not detect a planted bias ({verdict}; docs/calibration.md)."


def _is_about(rule: Rule, evaluation: dict[str, Any], scored: Collection[tuple[str, str, str]]) -> bool:
    """Return True for a model that the rule checks, and that its scorer scored: another kind of model has other scorers."""
    model = model_of(evaluation)
    return (
        rule.model in ("", model)
        and (model, rule.benchmark, rule.scorer) in scored
        and benchmark_of(evaluation) == rule.benchmark
    )


def _verdict(rule: Rule, evaluation: dict[str, Any]) -> str:
    facts, model = evaluation.get("benchmark", {}), evaluation.get("model", {})
    return verdict_on(rows_about(facts.get("data_sha256", ""), model.get("kind", "")), rule.scorer, rule.measure)
