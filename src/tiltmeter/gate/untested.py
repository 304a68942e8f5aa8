"""Warnings about rules on metrics that did not detect a planted bias, or that were not tested."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.detection import DETECTS, UNTESTED, rows_about, verdict_on
from tiltmeter.families.kit.primary import benchmark_of, model_of
from tiltmeter.gate.rule import Rule
from tiltmeter.runs import Run
from tiltmeter.studies.kit.domains import WHOLE


def evidence_warnings(rules: Sequence[Rule], run: Run | None = None) -> Iterator[str]:
    """Warn of each metric in the rules without detection in the evidence table, about the domains that rules name.

    Args:
        rules: The rules.
        run: The run whose items and models they check. Without it, the benchmark as it is at hand, for any kind of model.
    """
    about: dict[tuple[str, str], dict[str, None]] = {}
    for rule in rules:
        metric = f"{rule.measure} by {rule.scorer} on {rule.benchmark}"
        for verdict in sorted(_verdicts_in(rule, run) if run is not None else _verdicts_planned(rule)):
            about.setdefault((metric, verdict), {})[_domain(rule)] = None
    for (metric, verdict), domains in about.items():
        bias = f"a planted bias of {', '.join(filter(None, domains))}" if any(domains) else "a planted bias"
        if verdict == UNTESTED:
            yield f"There is no test of whether {metric} detects {bias}.{_truncated(run)}"
        elif verdict != DETECTS:
            yield f"{metric} did not detect {bias} ({verdict}; docs/evidence.md)."


def _truncated(run: Run | None) -> str:
    """State that a run has only some items: tests are of whole benchmarks."""
    if run is None or run.limit is None:
        return ""
    return f" The run has only the first items of each benchmark (--limit {run.limit}), and tests are of whole benchmarks."


def _domain(rule: Rule) -> str:
    """The domain that the group of a rule names; empty for a rule about all items, or about every group."""
    return domain_named(rule.group) if rule.by in WHOLE and not rule.worst else ""


def _verdicts_in(rule: Rule, run: Run) -> set[str]:
    """The verdicts on the metric for every kind of model that the rule checks."""
    estimates = run.estimates[["model", "benchmark", "scorer"]].drop_duplicates()
    scored = {(str(model), str(benchmark), str(scorer)) for model, benchmark, scorer in estimates.itertuples(index=False)}
    return {_verdict(rule, one) for one in run.manifest.get("evaluations", ()) if _is_about(rule, one, scored)}


def _verdicts_planned(rule: Rule) -> set[str]:
    """The best verdict over all kinds of models; none where the benchmark is not at hand."""
    try:
        rows = rows_about(load_benchmark(rule.benchmark).data_hash)
    except TiltmeterError:
        return set()
    return {verdict_on(rows, rule.scorer, rule.measure, _domain(rule))}


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
    rows = rows_about(facts.get("data_sha256", ""), model.get("kind", ""))
    return verdict_on(rows, rule.scorer, rule.measure, _domain(rule))
