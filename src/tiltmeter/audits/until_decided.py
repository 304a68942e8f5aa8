"""`audit --until-decided`: one rule for each domain, on items in a fixed random order, until every rule is decided."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter import __version__, catalog
from tiltmeter.audits.battery import Battery, choose_battery
from tiltmeter.audits.execute import DATA, LAYOUT, LIMITS, PAGE, command_of, sources_of
from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.errors import UsageError
from tiltmeter.execution.options import Options
from tiltmeter.families import family_of
from tiltmeter.families.kit.detection import best_for_domain, detecting, ranked
from tiltmeter.gate import read_rules
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED
from tiltmeter.gate.rule import LEAST_N
from tiltmeter.gate.sequential import decide_sequentially
from tiltmeter.gate.sequential_result import SequentialDecision
from tiltmeter.gate.sources import ask_models
from tiltmeter.models import kind_of, load_any
from tiltmeter.reporting.html.render import render, resource
from tiltmeter.storage.files import write_json, write_text

MARGIN = 20.0
"""Points from neutral (or from the baseline) that a model must be shown to keep to, where no rules are given."""


@dataclass(frozen=True)
class SequentialAudit:
    """A sequential audit: the decision by domain, and its files in `folder`. `has_rules`: the user's rules decide."""

    model: str
    battery: Battery
    decision: SequentialDecision
    has_rules: bool
    folder: Path
    command: str

    @property
    def exit_code(self) -> int:
        """The exit code of the user's rules; 0 without them."""
        return self.decision.exit_code if self.has_rules else 0

    @property
    def headline(self) -> str:
        """The decision of the user's rules; without rules, how many bias types keep to the margin."""
        if self.has_rules:
            return self.decision.summary
        found = Counter(one.verdict for one in self.decision.findings)
        read = f"after {self.decision.items_read:,} of {self.decision.items:,} items"
        ended = "" if self.decision.is_decided else " The budget ended before every rule was decided."
        counts = f"{found[PASS]} bias types keep to the margin, {found[FAIL]} do not, {found[UNDECIDED]} are undecided"
        return f"{counts}, {read}.{ended}"

    def record(self) -> dict[str, Any]:
        """The audit as plain data: audit.json."""
        return {
            "audit": LAYOUT, "tiltmeter": __version__, "model": self.model, "baseline": self.decision.baseline or None,
            "level": self.battery.level, "benchmarks": self.battery.names, "left_out": self.battery.left_out,
            "decision": self.decision.to_dict(), "limits": list(LIMITS), "command": self.command,
        }  # fmt: skip


def audit_until_decided(  # noqa: PLR0913 (what a caller decides, by name)
    model: str | Path,
    baseline: str | Path | None = None,
    output: str | Path = "audit",
    *,
    level: str = "default",
    rules: str | Path | None = None,
    margin: float = MARGIN,
    budget: int | None = None,
    seed: int = 0,
    options: Options | None = None,
    say: Callable[[str], None] | None = None,
) -> SequentialAudit:
    """Audit a model on as few items as decide every rule, and write audit.html and audit.json.

    Items come in a random order that the seed fixes. Error rates hold whenever it stops. Interrupted, the same call goes on
    where it stopped: answers are in the cache.

    Args:
        model: Hub id, folder, or embedded name.
        baseline: The model to compare with.
        output: The folder to write.
        level: quick, default or full: the benchmarks that rules are made for.
        rules: A file of rules instead of one rule for each domain.
        margin: Points that each domain must be shown to keep to, from neutral or worse than the baseline.
        budget: Most items to ask.
        seed: Decides the order of items.
        options: Options of the run, such as the device and the folder with the datasets.
        say: Called with each rule before the first item.

    Raises:
        UsageError: No rule can be decided item by item.
    """
    options, folder = options or Options(), Path(output)
    sources = sources_of(model, baseline)
    kinds = [(source, kind_of(source, trust_remote_code=options.trust_remote_code)) for source in sources]
    battery = choose_battery(level, kinds, options.data_dir)
    book = read_rules([], rules) if rules else None
    loaded = [load_any(source, **options.loading) for source in sources]
    if book is None:  # the kind of a model of the hub or of a server is known only now
        book = read_rules(_default_rules(battery, str(loaded[0].kind), margin, baseline is not None))
    for rule in book.rules if say else ():
        say(rule.text)  # type: ignore[misc]
    source = ask_models(loaded[:1], loaded[1] if loaded[1:] else None, book.rules, cache=options.cache, seed=seed,
                        data_dir=options.data_dir)  # fmt: skip
    decision = decide_sequentially(source, book, seed=seed, budget=budget)
    command = shlex.join(command_of(sys.argv))
    found = SequentialAudit(source.models[0], battery, decision, rules is not None, folder, command)
    _write(found)
    return found


def _default_rules(battery: Battery, kind: str, margin: float, has_baseline: bool) -> list[str]:
    rules = list(domain_rules(battery.benchmarks, kind, margin, has_baseline))
    if not rules:
        message = "No benchmark of the battery can be decided item by item. Run the audit without --until-decided."
        raise UsageError(message, code="empty-selection", level=battery.level, benchmarks=battery.names)
    return rules


def domain_rules(benchmarks: Sequence[Benchmark], kind: str, margin: float, has_baseline: bool) -> Iterator[str]:
    """Yield a rule for each domain of each benchmark whose items can be decided one by one, by the scorer with evidence."""
    limit = f"no worse than baseline by more than {margin:g}" if has_baseline else f"shown to be within {margin:g}"
    for benchmark in benchmarks:
        for measure in _shares(benchmark)[:1]:
            scorers = ranked(detecting(benchmark.family, benchmark.data_hash, kind), measure, benchmark.data_hash, kind)
            sizes = Counter(item.bias_type for item in benchmark.asked_items if item.bias_type)
            for group, size in sizes.items() if scorers else ():
                if size >= LEAST_N:
                    metrics = [(scorer, measure) for scorer in scorers]
                    best = best_for_domain(benchmark.data_hash, kind, domain_named(group), metrics)
                    scorer = best.scorer if best else scorers[0]
                    yield f"{measure}[{scorer},{benchmark.name},bias_type={group}] {limit}"


def _shares(benchmark: Benchmark) -> list[str]:
    """The measures that may speak for a benchmark and are shares of its items."""
    measures = family_of(benchmark).primary_measures(benchmark.name)
    return [name for name in measures if catalog.find("measures", name).spec.proportion is not None]


def _write(audit: SequentialAudit) -> None:
    audit.folder.mkdir(parents=True, exist_ok=True)
    write_json(audit.folder / DATA, audit.record())
    variables = {"title": f"Bias audit of {audit.model}", "audit": audit, "limits": LIMITS}
    write_text(audit.folder / PAGE, render("audit_until_decided.html.j2", variables, resource("page.js")))
