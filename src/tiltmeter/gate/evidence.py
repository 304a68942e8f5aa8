"""Evidence for rules: the answers of a run and of its baseline, estimated as the rules need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.items import group_column, has_column, repeated_share
from tiltmeter.display import share_text
from tiltmeter.errors import InputError, RunError, UsageError
from tiltmeter.families import Answers
from tiltmeter.gate.rule import Rule
from tiltmeter.runs import Run, load_run
from tiltmeter.runs.comparability import refuse_incomparable
from tiltmeter.runs.compare import compare
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.runs.reading import refuse_namesakes
from tiltmeter.stats.settings import Settings, stored_settings
from tiltmeter.storage.provenance import recorded_model

if TYPE_CHECKING:
    import pandas as pd

OneRun = str | Path | Run
ASKED_BY = ("precision", "kind")
"""Facts besides the digest that distinguish two models of the same weights."""
DISTINCT = 20
"""So many different numbers, all of them equal, are no coincidence."""
MOST_REPEATED = 0.05
"""The largest share of items that may repeat earlier ones."""
MOST_REPEATED_PROMPTS = 0.2
"""Largest share of repeated prompts: HONEST repeats 11 % of its prompts, once for each list of words that they come from."""
SUFFIX = " (baseline)"
"""The models of a baseline run may well be called like those of the run: a release is made in the same folder."""


def _measure_hint(rule: Rule) -> str:
    """Explain the brackets where a measure stands in a scorer's place."""
    if rule.scorer not in catalog.names("measures"):
        return ""
    return f", which is a measure: write MEASURE[SCORER,BENCHMARK], such as {rule.scorer}[SCORER,{rule.benchmark}]"


@dataclass(frozen=True)
class Evidence:
    """Answers by family, the models to judge, the one that they are compared with, and the run's settings."""

    answers: Mapping[str, Answers]
    models: tuple[str, ...]
    baseline: str
    settings: Settings

    def for_rules(self, rules: Sequence[Rule]) -> Evidence:
        """Only what these rules are about, which is estimated faster. Refuses a benchmark or a scorer that is not there."""
        for rule in rules:
            self._refuse_absent(rule)
        wanted = {
            "benchmark": list(dict.fromkeys(rule.benchmark for rule in rules)),
            "scorer": list(dict.fromkeys(rule.scorer for rule in rules)),
            "model": [*self.models, self.baseline],
        }
        kept = {name: part.where(**wanted) for name, part in self.answers.items()}
        return replace(self, answers={name: part for name, part in kept.items() if len(part)})

    def _refuse_absent(self, rule: Rule) -> None:
        there = {name: part for part in self.answers.values() for name in part.benchmarks}
        if rule.benchmark not in there:
            message = f"{rule.text}: the run has no {rule.benchmark}. Benchmarks there: {', '.join(there)}."
            raise InputError(
                message, code="unknown-name", rule=rule.text, benchmark=rule.benchmark, kind="benchmark", name=rule.benchmark
            )
        table = there[rule.benchmark].table
        if "scorer" in table:
            scorers = list(dict.fromkeys(map(str, table[table["benchmark"] == rule.benchmark]["scorer"])))
            if rule.scorer not in scorers:
                lacking = f"the run has no scores of {rule.benchmark} by {rule.scorer}{_measure_hint(rule)}"
                message = f"{rule.text}: {lacking}. Scorers there: {', '.join(scorers)}."
                raise InputError(
                    message, code="unknown-name", rule=rule.text, scorer=rule.scorer, kind="scorer", name=rule.scorer
                )
        items = there[rule.benchmark].items
        refuse_repeats(rule, items[items["benchmark"] == rule.benchmark])
        if rule.model and rule.model not in self.models:
            known = ", ".join(self.models)
            message = f"{rule.text}: the run has no model {rule.model} to judge. Models: {known}."
            raise InputError(message, code="unknown-name", rule=rule.text, model=rule.model, kind="model", name=rule.model)

    def is_baseline(self, model: str) -> bool:
        """Return True if a model is the baseline under another name: the same weights, queried in the same way.

        The same weights in other files have another digest, but the same scores.
        """
        ours, theirs = (self._identities(name) for name in (model, self.baseline))
        if ours & theirs:
            return True
        return self._same_answers(model, self.baseline) and (not (ours and theirs) or self._has_scores(model))

    def _same_answers(self, model: str, other: str) -> bool:
        """Return True if all answers of two models are equal: nothing else is known of imported ones."""
        pairs = [[part.where(model=name) for name in (model, other)] for part in self.answers.values()]
        tables = [[one.table.drop(columns="model").reset_index(drop=True) for one in pair] for pair in pairs]
        return all(first.equals(second) for first, second in tables)

    def unread(self, rule: Rule, model: str) -> float:
        """The share of a benchmark that has no answers of a model at all: unreadable rows, and items without an answer."""
        return 1 - (1 - self.skipped(rule.benchmark)) * (1 - self._unanswered(rule, model))

    def _unanswered(self, rule: Rule, model: str) -> float:
        """The share of items without a row of answers; in the worst group, if the rule is about groups."""
        part = next(part for part in self.answers.values() if rule.benchmark in part.benchmarks)
        if "item" not in part.table or not len(part.items):
            return 0.0
        items = part.items[(part.items["benchmark"] == rule.benchmark) & part.items["scored"].astype(bool)]
        rows = part.where(benchmark=rule.benchmark, model=model, scorer=rule.scorer).table
        lacks = ~items["item"].isin(set(rows["item"]))
        if not lacks.any() or rule.by == "all" or not has_column(items, rule.by):
            return float(lacks.mean()) if len(items) else 0.0
        group = [plain(str(name)) for name in group_column(items, items["item"].tolist(), rule.by)]
        shares = lacks.groupby(group).mean()
        return float(shares.max() if rule.worst else shares.get(plain(rule.group), 0.0))

    def _has_scores(self, model: str) -> bool:
        """Return True if answers are numbers that two different models do not share, instead of a few options."""
        tables = [part.where(model=model).table.select_dtypes("floating") for part in self.answers.values()]
        return any(table.nunique().max() >= DISTINCT for table in tables if len(table.columns))

    def skipped(self, benchmark: str) -> float:
        """The share of a benchmark's rows that could not be read as items; such rows are missing, too."""
        facts = [manifest.get("benchmark", {}) for part in self.answers.values() for manifest in part.manifests]
        return max((float(one.get("skipped_share", 0.0)) for one in facts if one.get("name") == benchmark), default=0.0)

    def _identities(self, model: str) -> set[tuple[str, ...]]:
        facts = [manifest.get("model", {}) for part in self.answers.values() for manifest in part.manifests]
        return {identity_of(one) for one in facts if one.get("shown_as") == model and recorded_model(one)}

    @cached_property
    def _items(self) -> list[pd.DataFrame]:
        return [part.items for part in self.answers.values()]

    def _columns(self, rules: Sequence[Rule]) -> list[str]:
        """The columns of items that rules group by. Other columns are a family's own, and there unasked."""
        parts = [part for rule in rules if rule.by != "all" for part in rule.by.split(" × ")]
        return [part for part in dict.fromkeys(parts) if any(has_column(items, part) for items in self._items)]

    def estimates(self, rules: Sequence[Rule], settings: Settings) -> pd.DataFrame:
        """The estimates that rules read."""
        measures = list(dict.fromkeys(rule.measure for rule in rules))
        return estimate_all(self.answers, measures, self._columns(rules), settings)

    def differences(self, rules: Sequence[Rule], settings: Settings) -> pd.DataFrame:
        """The paired differences from the baseline that rules read."""
        measures = list(dict.fromkeys(rule.measure for rule in rules))
        by = self._columns(rules) or "all"
        return compare(self.answers, self.baseline, measures, by, **vars(settings))


def identity_of(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what distinguishes a model from others by its recorded facts."""
    return recorded_model(facts), *(str(facts.get(name, "")) for name in ASKED_BY)


def refuse_repeats(rule: Rule, items: pd.DataFrame) -> None:
    """Refuse a benchmark with items that are no evidence of their own: they narrow an interval, or move it to neutral."""
    share = repeated_share(items)
    are_pairs = "stereo" in items and bool(items["stereo"].notna().any())
    are_prompts = "prompt" in items and bool(items["prompt"].notna().any())
    if share > (MOST_REPEATED_PROMPTS if are_prompts else MOST_REPEATED):
        kind = "pair" if are_pairs else "item"
        how = ", in this order or the other, or consist of one sentence twice" if are_pairs else ""
        raise RunError(
            f"{rule.text}: {share_text(share)} of the {kind}s of {rule.benchmark} repeat earlier ones{how}. "
            "They are no evidence of their own. Remove them.",
            code="duplicate-name", rule=rule.text, benchmark=rule.benchmark, kind=kind, share=share,
        )  # fmt: skip


def refuse_skipped(rule: Rule, share: float) -> None:
    """Refuse a benchmark of which more rows could not be read than the rule lets be missing."""
    if share > rule.max_missing:
        raise RunError(
            f"{rule.text}: {share_text(share)} of the rows of {rule.benchmark} could not be read; at most "
            f"{100 * rule.max_missing:g}% may be missing. Mend the file.",
            code="too-few", rule=rule.text, benchmark=rule.benchmark, kind="rows", share=share,
        )  # fmt: skip


def gather(run: OneRun, baseline: OneRun | None = None, baseline_model: str | None = None) -> Evidence:
    """The evidence of a run, and of a baseline: a model of another run, or of the same one."""
    ours = run if isinstance(run, Run) else load_run(run)
    parts = list(ours.answers.values())
    models = list(dict.fromkeys(model for part in parts for model in part.models))
    settings = replace(stored_settings(ours.manifest.get("asked", {})), clusters=True)  # a verdict needs independent units
    name = ""
    if baseline is not None:
        theirs = baseline if isinstance(baseline, Run) else load_run(baseline)
        chosen = _one_model(theirs, baseline_model)
        name = f"{chosen}{SUFFIX}"
        parts += [_renamed(part.where(model=chosen), chosen, name) for part in theirs.answers.values()]
        refuse_namesakes(parts)
        refuse_incomparable([ours, theirs], same_models=False)
    elif baseline_model is not None:
        if baseline_model not in models:
            message = f"The run has no model '{baseline_model}'. Models: {', '.join(models)}."
            raise UsageError(message, code="unknown-name", model=baseline_model, kind="model", name=baseline_model)
        name = baseline_model
        models.remove(name)
        if not models:
            message = f"{name} is the only model of the run, so there is none to compare with it."
            raise UsageError(message, code="too-few", model=name)
    return Evidence(by_family([part for part in parts if len(part)]), tuple(models), name, settings)


def _one_model(run: Run, wanted: str | None) -> str:
    models = list(dict.fromkeys(model for part in run.answers.values() for model in part.models))
    if wanted is None and len(models) == 1:
        return models[0]
    if wanted not in models:
        which = f"has no model '{wanted}'" if wanted else "has several models; say which with --baseline-model"
        message = f"The baseline run {run.folder} {which}. Models: {', '.join(models)}."
        raise RunError(message, code="unknown-name", run=str(run.folder), models=models, kind="model", name=wanted)
    return str(wanted)


def _renamed(answers: Answers, old: str, new: str) -> Answers:
    manifests = tuple(
        manifest | {"model": manifest.get("model", {}) | {"shown_as": new}}
        for manifest in answers.manifests
        if manifest.get("model", {}).get("shown_as", old) == old
    )
    changed = answers.mapped(lambda frame: frame.assign(model=new) if "model" in frame else frame)
    return replace(changed, manifests=manifests)


def plain(name: str) -> str:
    """A name as it is compared: any dash is a hyphen, and spaces do not count for more than one."""
    return re.sub(r"\s+", " ", name.replace("−", "-")).strip()
