"""Sources of answers for a sequential check: a stored run, or models that answer a block of items at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers
from tiltmeter.gate.evidence import SUFFIX, Evidence, identity_of, refuse_repeats, refuse_skipped
from tiltmeter.gate.rule import Rule
from tiltmeter.models import usable
from tiltmeter.runs.ask import score
from tiltmeter.runs.estimate import by_family
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.provenance import model_facts

if TYPE_CHECKING:
    import pandas as pd


class Source(Protocol):
    """Answers to some items of a benchmark, and all that were read so far."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that rules are about."""

    @property
    def baseline(self) -> str:
        """The model that they are compared with; empty if none."""

    def refuse(self, rules: Sequence[Rule]) -> None:
        """Refuse rules about what is not there, and benchmarks that repeat pairs."""

    def is_baseline(self, model: str) -> bool:
        """Return True if a model is the baseline under another name."""

    def items(self, benchmark: str) -> pd.DataFrame:
        """The items that models can answer, with `item` and the columns that group them."""

    def answers(self, benchmark: str, scorers: Sequence[str], items: Sequence[str]) -> Answers:
        """Answers of all models to these items."""

    def evidence(self) -> Evidence:
        """All answers so far."""


@dataclass
class StoredAnswers:
    """The answers of a run, read as if its items came in another order."""

    stored: Evidence
    read: dict[str, list[str]] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of the run, without the baseline."""
        return self.stored.models

    @property
    def baseline(self) -> str:
        """The baseline's name."""
        return self.stored.baseline

    def refuse(self, rules: Sequence[Rule]) -> None:
        """Refuse what the full gate refuses."""
        self.stored.for_rules(rules)
        for rule in rules:
            refuse_skipped(rule, self.stored.skipped(rule.benchmark))

    def is_baseline(self, model: str) -> bool:
        """Compare the recorded facts of both."""
        return self.stored.is_baseline(model)

    def _part(self, benchmark: str) -> Answers:
        for part in self.stored.answers.values():
            if benchmark in part.benchmarks:
                return part
        raise UsageError(
            f"The run has no {benchmark}.", code="unknown-name", benchmark=benchmark, kind="benchmark", name=benchmark
        )

    def items(self, benchmark: str) -> pd.DataFrame:
        """The items of the run."""
        items = self._part(benchmark).items
        return items[(items["benchmark"] == benchmark) & items["scored"].astype(bool)].reset_index(drop=True)

    def answers(self, benchmark: str, scorers: Sequence[str], items: Sequence[str]) -> Answers:
        """The stored answers to these items."""
        self.read.setdefault(benchmark, []).extend(items)
        models = [*self.models, *([self.baseline] if self.baseline else [])]
        return self._part(benchmark).where(benchmark=benchmark, scorer=list(scorers), item=list(items), model=models)

    def evidence(self) -> Evidence:
        """The stored answers to the items that were read."""
        kept = {
            name: Answers.concat([part.where(benchmark=one, item=items) for one, items in self.read.items()])
            for name, part in self.stored.answers.items()
        }
        return replace(self.stored, answers={name: part for name, part in kept.items() if len(part)})


@dataclass
class AskedModels:
    """Models that answer block by block, through the cache; the same check again reads the same blocks from there."""

    loaded: Mapping[str, Any]
    benchmarks: Mapping[str, Benchmark]
    baseline: str = ""
    cache: Any = True
    seed: int = 0
    parts: list[Answers] = field(default_factory=list)

    @property
    def models(self) -> tuple[str, ...]:
        """The models without the baseline."""
        return tuple(name for name in self.loaded if name != self.baseline)

    def refuse(self, rules: Sequence[Rule]) -> None:
        """Refuse repeated pairs before the first question; loading checks models, and scoring checks scorers."""
        for rule in rules:
            refuse_repeats(rule, items_table(self.benchmarks[rule.benchmark]))
            refuse_skipped(rule, self.benchmarks[rule.benchmark].skipped_share)

    def is_baseline(self, model: str) -> bool:
        """Compare the facts of both."""
        ours, theirs = (identity_of(model_facts(self.loaded[name])) for name in (model, self.baseline))
        return ours == theirs

    def items(self, benchmark: str) -> pd.DataFrame:
        """The items that models answer."""
        items = items_table(self.benchmarks[benchmark])
        return items[items["scored"].astype(bool)].reset_index(drop=True)

    def answers(self, benchmark: str, scorers: Sequence[str], items: Sequence[str]) -> Answers:
        """Query every model on these items."""
        whole, wanted = self.benchmarks[benchmark], set(items)
        block = replace(whole, items=[item for item in whole.asked_items if item.id in wanted])
        found = [
            score(model, block, list(scorers), cache=self.cache, seed=self.seed).renamed(model.name, name)
            for name, model in self.loaded.items()
        ]
        self.parts += found
        return Answers.concat(found)

    def evidence(self) -> Evidence:
        """All answers that were given."""
        return Evidence(by_family(self.parts), self.models, self.baseline, Settings(seed=self.seed))


def ask_models(
    models: Sequence[Any],
    baseline: Any,
    rules: Sequence[Rule],
    *,
    cache: Any = True,
    seed: int = 0,
    data_dir: str | Path | None = None,
) -> AskedModels:
    """Load models, their baseline and the benchmarks that rules name, ready to answer.

    Args:
        models: Models, hub ids, folders or embedded names.
        baseline: The model to compare with, or None.
        rules: The rules that will be checked.
        cache: False, or a folder instead of the user's cache.
        seed: For everything that is drawn at random.
        data_dir: The folder with the datasets.
    """
    loaded: dict[str, Any] = {}
    for model in map(usable, models):
        if model.name in loaded:
            raise UsageError(
                f"Two models are called {model.name}.",
                code="duplicate-name",
                model=model.name,
                kind="model",
                name=model.name,
            )
        loaded[model.name] = model
    name = ""
    if baseline is not None:
        old = usable(baseline)
        name = f"{old.name}{SUFFIX}" if old.name in loaded else old.name
        loaded[name] = old
    for rule in rules:
        if rule.model and rule.model not in loaded:
            message = f"{rule.text}: there is no model {rule.model}. Models: {', '.join(loaded)}."
            raise UsageError(message, code="unknown-name", rule=rule.text, model=rule.model, kind="model", name=rule.model)
    benchmarks = {name: load_benchmark(name, data_dir=data_dir) for name in dict.fromkeys(rule.benchmark for rule in rules)}
    return AskedModels(loaded, benchmarks, name, cache, seed)
