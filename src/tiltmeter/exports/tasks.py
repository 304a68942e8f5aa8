"""A benchmark inside another evaluation program: its questions, and our measures of the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark, Item, load_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers
from tiltmeter.families.kit.protocol import Family, family_of, measures_of
from tiltmeter.families.kit.requests import Requests
from tiltmeter.runs.estimate import estimate

ENDS = ("", "_low", "_high")
"""Suffixes of a measure's value and of the ends of its interval."""


@dataclass
class Questions:
    """Questions of a benchmark that another program asks, and the metrics that it reports.

    Attributes:
        benchmark: The benchmark.
        kind: How models are queried: `likelihood` (of continuations) or `text`.
        measures: Names of the measures.
    """

    benchmark: Benchmark
    kind: str
    measures: tuple[str, ...]
    _last: tuple[str, Mapping[str, float]] = ("", {})
    """The replies that were estimated last, and their values: programs request each metric separately."""

    @property
    def requests(self) -> Requests[Any, Any]:
        """Requests of all items."""
        return self._requests_of(self.benchmark)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics: each measure, and the ends of its interval."""
        return tuple(f"{measure}{end}" for measure in self.measures for end in ENDS)

    def values(self, replies: Mapping[str, Any]) -> Mapping[str, float]:
        """Estimate the metrics from a reply for each item by id. Items without a reply count nowhere."""
        key = repr(sorted(replies.items()))
        if key != self._last[0]:
            self._last = key, self._estimated(self.answers(replies))
        return self._last[1]

    def answers(self, replies: Mapping[str, Any]) -> Answers:
        """Read a reply for each item by id."""
        asked = replace(self.benchmark, items=[self.items[name] for name in replies])
        return self._requests_of(asked).answers(replies)

    def _requests_of(self, benchmark: Benchmark) -> Requests[Any, Any]:
        requests = _requests(benchmark, self.kind)
        assert requests is not None  # `questions_of` has seen to that
        return requests

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """Items by id."""
        return {item.id: item for item in self.benchmark.asked_items}

    def _estimated(self, answers: Answers) -> Mapping[str, float]:
        table = estimate(answers, list(self.measures), by=())
        rows = table[table["by"] == "all"].drop_duplicates("measure").set_index("measure")
        columns = dict(zip(ENDS, ("value", "low", "high"), strict=True))
        return {f"{name}{end}": float(rows[column].get(name, float("nan")))
                for name in self.measures for end, column in columns.items()}  # fmt: skip


def questions_of(
    benchmark: Benchmark | str | Path, kind: str, measures: Sequence[str] = (), *, data_dir: str | Path | None = None
) -> Questions:
    """Prepare a benchmark for another program.

    Args:
        benchmark: A benchmark, its name, or your own file.
        kind: How models are queried: `likelihood` or `text`.
        measures: Names of measures. Default: the measures of bias that the benchmark provides.
        data_dir: The folder with the datasets.

    Raises:
        UsageError: The benchmark's family has no such requests, or the replies cannot give a measure.
    """
    loaded = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(str(benchmark), data_dir=data_dir)
    family = family_of(loaded)
    if _requests(loaded, kind) is None:
        raise UsageError(
            f"{loaded.name} cannot run in another program: its family, {family.name}, has no {kind} requests.",
            code="missing-capability", benchmark=loaded.name, family=family.name, capability=kind,
        )  # fmt: skip
    names = tuple(catalog.find("measures", name).name for name in measures)
    _refuse_unread(names, family, loaded, kind)
    return Questions(loaded, kind, names or _measures_of_bias(family, loaded))


def _refuse_unread(names: Sequence[str], family: Family, benchmark: Benchmark, kind: str) -> None:
    """Refuse a measure that the replies cannot give, before a model is queried."""
    requests = _requests(benchmark, kind)
    read = family.provides(benchmark) - (requests.lacks if requests else set())
    fitting = [entry.name for entry in measures_of(family) if set(entry.parameters) <= read]
    for name in names:
        if name not in fitting:
            raise UsageError(
                f"{name} cannot be computed from {kind} requests of {benchmark.name}. Measures that can: "
                f"{', '.join(fitting)}.",
                code="inapplicable-option", option="measures", value=name, benchmark=benchmark.name, capability=kind,
            )  # fmt: skip


def _requests(benchmark: Benchmark, kind: str) -> Requests[Any, Any] | None:
    family = family_of(benchmark)
    return family.text_requests(benchmark) if kind == "text" else family.likelihood_requests(benchmark)


def _measures_of_bias(family: Family, benchmark: Benchmark) -> tuple[str, ...]:
    """Name the measures of bias with a value over all items: those that read no other group beside their own."""
    provided = {name for name in family.provides(benchmark) if not name.startswith("other_")}
    return tuple(
        entry.name
        for entry in measures_of(family)
        if entry.spec.role == "bias" and not entry.variant_of and set(entry.spec.reads) <= provided
    )
