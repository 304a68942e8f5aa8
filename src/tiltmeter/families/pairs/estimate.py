"""Estimating pairs: measures of sentence scores, each with an interval, counts of missing and tied pairs, and p."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.contrasts import Found, contrast
from tiltmeter.families.pairs.occupations import as_read, sides_of
from tiltmeter.families.pairs.paired import SIDES, Paired, pair_up
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.measured import (
    bootstrap_test,
    has_exact_test,
    interval_of,
    neutral_of,
    p_values,
    strata_of,
    units_for,
    wins_and_losses,
)
from tiltmeter.stats.moments import bootstrap_together, values_of
from tiltmeter.stats.resampling import Floats, generator
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.spread import spread_over_groups
from tiltmeter.storage.progress import watched

MOST_THREADS = min(4, os.cpu_count() or 1)
"""Each thread holds draws: about 150 megabytes at 10,000 resamples."""
EVERYTHING = ("all", "all")
NOTHING_COMPLETE = "not computed: no pair has all its scores"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model, benchmark and scorer: overall and per group of the columns in `by`.

    Intervals are percentile bootstraps over items, paired, stratified by bias type (measures over targets: by target).
    p: exact binomial for bias_score, else exchanging the two sentences of random pairs; Holm-corrected over groups.
    Measures of occupations resample occupations; p of r and the slope is from permuting them;
    p of the stereotype rate is from its bootstrap.
    """
    pairs = pair_up(answers, [*by, *strata_of(measures)], settings.clusters)
    known = _estimated(pairs, measures, by, settings)
    for paired in pairs:
        yield from _rows(paired, measures, by, settings, known)


Place = tuple[str, str]
"""A column and one of its groups; all items are ("all", "all")."""
Estimates = dict[tuple[int, str, Place], Found]


@dataclass(frozen=True)
class Task:
    """One measure over one group of the items of a benchmark, for all models and scorers that have it."""

    measure: Entry
    place: Place
    pairs: tuple[Paired, ...]

    @property
    def contrasted(self) -> bool:
        """Return whether this group is compared with another."""
        column, name = self.place
        return name in self.measure.spec.contrasts.get(column, ())


def _estimated(pairs: Sequence[Paired], measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Estimates:
    """All estimates, computed in threads. Each has its own random stream, so the order does not matter."""
    tasks = list(_tasks(pairs, measures, by))
    stop = Event()
    estimates: Estimates = {}
    with watched("Estimating", len(tasks)) as advance, ThreadPoolExecutor(MOST_THREADS) as threads:  # numpy lets others run
        try:
            for finished in threads.map(lambda task: {} if stop.is_set() else _finished(task, settings), tasks):
                estimates |= finished
                advance(1)
        except BaseException:  # Ctrl-C: leaving the pool waits for tasks that have begun
            stop.set()
            raise
    return estimates


def _tasks(pairs: Sequence[Paired], measures: Sequence[Entry], by: Sequence[str]) -> Iterator[Task]:
    for benchmark in dict.fromkeys(paired.benchmark for paired in pairs):
        of_benchmark = [paired for paired in pairs if paired.benchmark == benchmark]
        for measure in measures:
            able = tuple(paired for paired in of_benchmark if paired.supports(measure))
            if able:
                yield Task(measure, EVERYTHING, able)
                for column in by:
                    for name in dict.fromkeys(name for paired in able for name in groups_of(paired, column)):
                        yield Task(measure, (column, name), able)


def _finished(task: Task, settings: Settings) -> Estimates:
    """The estimates of one task. Those about the same items share their draws."""
    alike: dict[tuple[Any, ...], list[tuple[Paired, Paired, Estimate]]] = {}
    estimates: Estimates = {}
    for paired in task.pairs:
        part = part_of(as_read(paired, task.measure), *task.place)
        complete, reasons = part.complete_for(task.measure)
        row = replace(
            _blank(paired, task.measure, *task.place),
            n=len(complete),
            n_missing=len(part) - len(complete),
            n_ties=_ties(complete),
            missing=json.dumps(dict(reasons)) if reasons else "",
            note="" if len(complete) else NOTHING_COMPLETE,
        )
        estimates[id(paired), task.measure.name, task.place] = Found(row)
        if len(complete):
            alike.setdefault(complete.labels.key, []).append((paired, complete, row))
    for same in alike.values():
        measured = measure_alike(task.measure, [(complete, row) for _, complete, row in same], settings, task.contrasted)
        for (paired, _, _), one in zip(same, measured, strict=True):
            estimates[id(paired), task.measure.name, task.place] = one
    return estimates


def measure_alike(
    measure: Entry, parts: Sequence[tuple[Paired, Estimate]], settings: Settings, contrasted: bool = False
) -> list[Found]:
    """One measure over the same complete items by different models or scorers: value, interval and p of each."""
    samples = [complete.sample_for(measure) for complete, _ in parts]
    values, of_parts = values_of(measure, samples)
    first = parts[0][1]
    label = (first.benchmark, first.by, first.group, measure.name)
    draws = bootstrap_together(measure, samples, generator(settings.seed, "bootstrap", *label), settings.resamples)
    units = units_for(measure, samples[0])
    if measure.spec.test == "bootstrap":
        p = [bootstrap_test(measure, units, *known, settings) for known in zip(values, draws, strict=True)]
    else:
        p = p_values(measure, samples, values, sides_of(measure), generator(settings.seed, "swap", *label), settings)
    found = []
    for n, (complete, row) in enumerate(parts):
        if np.isnan(values[n]):
            found.append(Found(replace(row, note="undefined: fewer than 2 pairs, or all scores of a side are equal")))
            continue
        low, high, note = interval_of(measure, units, values[n], draws[n], settings, p[n])
        equal = measure.spec.is_one_sided and values[n] == measure.spec.neutral
        notes = ["both score distributions are the same" if equal else "", note, _left_out(of_parts[:, n], complete)]
        details = complete.cluster_details
        whole = replace(
            row, value=values[n], low=low, high=high, p=p[n], details=details, note="; ".join(filter(None, notes))
        )
        has_exact = has_exact_test(measure) and samples[n].cluster is None
        sides = wins_and_losses(measure, samples[n]) if contrasted and has_exact else None
        found.append(Found(whole, draws[n] if contrasted else None, sides))
    return found


def _rows(
    paired: Paired, measures: Sequence[Entry], by: Sequence[str], settings: Settings, estimates: Estimates
) -> Iterator[Estimate]:
    """The estimates of one model, benchmark and scorer: overall, then for each column its groups and their contrasts."""
    for measure in measures:
        if not paired.supports(measure):
            continue
        yield estimates[id(paired), measure.name, EVERYTHING].row
        contrasts = measure.spec.contrasts
        for column in by:
            found = {name: estimates[id(paired), measure.name, (column, name)] for name in groups_of(paired, column)}
            yield from corrected([one.row for one in found.values()])
            if set(contrasts.get(column, ("",))) <= set(found):
                yield contrast([found[name] for name in contrasts[column]], measure, settings)
        for column, within in measure.spec.variance_over.items():
            if column in by:
                yield from _domains(paired, measure, column, within, settings)


def groups_of(paired: Paired, column: str) -> list[str]:
    """The groups of a column, by name."""
    return [] if column == "all" else paired.labels.names(column)


def part_of(paired: Paired, column: str, name: str) -> Paired:
    """The items of one group."""
    return paired if (column, name) == EVERYTHING else paired.take(paired.labels.where(column, name))


def _blank(paired: Paired, measure: Entry, by: str, group: str) -> Estimate:
    """An estimate that has no value yet."""
    place = (paired.model, paired.benchmark, "pairs", paired.scorer, measure.name, by, group)
    return Estimate(*place, neutral=neutral_of(measure))


def _ties(paired: Paired) -> int:
    if not set(SIDES) <= set(paired.scores):
        return 0
    return int((paired.scores["stereo"] == paired.scores["anti"]).sum())


def _left_out(of_parts: Floats, complete: Paired) -> str:
    """A note with the bias types for which a weighted measure is undefined."""
    if not np.isnan(of_parts).any():
        return ""
    codes = complete.labels.codes("bias_type")
    first = [int(np.flatnonzero(codes == code)[0]) for code in np.unique(codes)]
    types = complete.groups["bias_type"].iloc[first]
    return f"left out as undefined: {', '.join(str(name) for name in types[np.isnan(of_parts)])}"


def _domains(paired: Paired, measure: Entry, column: str, within: str, settings: Settings) -> Iterator[Estimate]:
    """Variance of a measure over the groups of each bias type, as Cao et al. (2022) score a domain."""
    variance = catalog.find("measures", "group_variance")
    complete, _ = paired.complete_for(measure)
    columns = {name: complete.scores[name][:, None] for name in measure.parameters}
    per_item = np.asarray(measure.function(**columns), dtype=np.float64)
    for name in sorted(complete.groups[within].unique()):
        at = ((complete.groups[within] == name) & complete.groups[column].notna()).to_numpy()
        known = replace(_blank(paired, variance, within, name), n=int(at.sum()))
        rng = generator(settings.seed, "domain", paired.benchmark, name)
        spread = spread_over_groups(per_item[at], complete.groups[column][at].to_numpy(), rng, settings.resamples)
        if spread is None:
            yield replace(known, note="not computed: fewer than 2 groups, or only one item in each group")
            continue
        p = permutation_p(spread.value, spread.dealt, 0.0)
        low, high, _ = interval_of(variance, known.n, spread.value, spread.draws, settings, p)
        note = f"sample variance over {spread.n_groups} groups; p from assigning the items to groups at random"
        details = {"n_groups": spread.n_groups}
        yield replace(known, value=spread.value, low=low, high=high, p=p, details=details, note=note)
