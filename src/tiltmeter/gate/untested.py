"""Warnings about rules on metrics that did not detect a planted bias, or that were not tested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.detection import DETECTS, UNTESTED, rows_about, verdict_on
from tiltmeter.families.kit.primary import benchmark_of, model_of
from tiltmeter.gate.plan import group_sizes
from tiltmeter.gate.rule import Rule
from tiltmeter.runs import Run
from tiltmeter.studies.kit.domains import WHOLE

Verdict = tuple[str, str]
"""A verdict on a metric, and the domain that it is about."""


def evidence_warnings(rules: Sequence[Rule], run: Run | None = None) -> Iterator[str]:
    """Warn of each metric in the rules without detection in the evidence table, about the domains that rules name.

    Args:
        rules: The rules.
        run: The run whose items and models they check. Without it, the benchmark as it is at hand, for any kind of model.
    """
    about: dict[tuple[str, str], dict[str, None]] = {}
    for rule in rules:
        metric = f"{rule.measure} by {rule.scorer} on {rule.benchmark}"
        for verdict, domain in sorted(_verdicts_in(rule, run) if run is not None else _verdicts_planned(rule)):
            about.setdefault((metric, verdict), {})[domain] = None
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


def _domains(rule: Rule, groups: Iterable[str]) -> set[str]:
    """The domains that a rule is about: of every group, or of the one that it names. Empty text for a rule on all items."""
    if rule.by not in WHOLE:
        return {""}
    return {domain_named(group) for group in (groups if rule.worst else [rule.group])} or {""}


def _verdicts_in(rule: Rule, run: Run) -> set[Verdict]:
    """The verdicts on the metric, with the domain, for every kind of model that the rule checks."""
    estimates = run.estimates[["model", "benchmark", "scorer"]].drop_duplicates()
    scored = {(str(model), str(benchmark), str(scorer)) for model, benchmark, scorer in estimates.itertuples(index=False)}
    domains = _domains(rule, _groups_in(rule, run) if rule.worst else ())
    kinds = [one for one in run.manifest.get("evaluations", ()) if _is_about(rule, one, scored)]
    return {(_verdict(rule, one, domain), domain) for one in kinds for domain in domains}


def _groups_in(rule: Rule, run: Run) -> Iterator[str]:
    """The groups of a run's items, by the column of a rule."""
    for answers in run.answers.values():
        items = answers.items[answers.items["benchmark"] == rule.benchmark]
        if len(items):
            yield from filter(None, group_column(items, list(items["item"]), rule.by))


def _verdicts_planned(rule: Rule) -> set[Verdict]:
    """The best verdict over all kinds of models, with the domain; none where the benchmark is not at hand."""
    try:
        rows = rows_about(load_benchmark(rule.benchmark).data_hash)
    except TiltmeterError:
        return set()
    domains = _domains(rule, group_sizes(rule) if rule.worst else ())
    return {(verdict_on(rows, rule.scorer, rule.measure, domain), domain) for domain in domains}


def _is_about(rule: Rule, evaluation: dict[str, Any], scored: Collection[tuple[str, str, str]]) -> bool:
    """Return True for a model that the rule checks, and that its scorer scored: another kind of model has other scorers."""
    model = model_of(evaluation)
    return (
        rule.model in ("", model)
        and (model, rule.benchmark, rule.scorer) in scored
        and benchmark_of(evaluation) == rule.benchmark
    )


def _verdict(rule: Rule, evaluation: dict[str, Any], domain: str) -> str:
    facts, model = evaluation.get("benchmark", {}), evaluation.get("model", {})
    rows = rows_about(facts.get("data_sha256", ""), model.get("kind", ""))
    return verdict_on(rows, rule.scorer, rule.measure, domain)
