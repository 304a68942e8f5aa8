"""Estimating pairs: measures of sentence scores, each with an interval, counts of missing and tied pairs, and p."""

from __future__ import annotations

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
from tiltmeter.families.pairs.occupations import as_read, sides_of
from tiltmeter.families.pairs.paired import SIDES, Paired, pair_up
from tiltmeter.stats.contrasts import contrast
from tiltmeter.stats.estimates import Estimate, each_corrected, joined, missing_columns
from tiltmeter.stats.measured import neutral_of, strata_of
from tiltmeter.stats.resampling import Floats, generator
from tiltmeter.stats.samples import Measured, estimate_samples
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.spread import estimate_spread
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
    yield from each_corrected(row for paired in pairs for row in _rows(paired, measures, by, settings, known))


Place = tuple[str, str]
"""A column and one of its groups; all items are ("all", "all")."""
Estimates = dict[tuple[int, str, Place], Measured]


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
            n_ties=_ties(complete),
            note="" if len(complete) else NOTHING_COMPLETE,
            **missing_columns(reasons),
        )
        estimates[id(paired), task.measure.name, task.place] = Measured(row)
        if len(complete):
            alike.setdefault(complete.labels.key, []).append((paired, complete, row))
    for same in alike.values():
        measured = measure_alike(task.measure, [(complete, row) for _, complete, row in same], settings, task.contrasted)
        for (paired, _, _), one in zip(same, measured, strict=True):
            estimates[id(paired), task.measure.name, task.place] = one
    return estimates


def measure_alike(
    measure: Entry, parts: Sequence[tuple[Paired, Estimate]], settings: Settings, contrasted: bool = False
) -> list[Measured]:
    """One measure over the same complete items by different models or scorers: value, interval and p of each."""
    samples, rows = [complete.sample_for(measure) for complete, _ in parts], [row for _, row in parts]
    label = (rows[0].benchmark, rows[0].by, rows[0].group, measure.name)
    streams = generator(settings.seed, "bootstrap", *label), generator(settings.seed, "swap", *label)
    found = estimate_samples(measure, rows, samples, streams, settings, sides_of(measure))
    known = [_described(one, complete, measure) for one, (complete, _) in zip(found, parts, strict=True)]
    return known if contrasted else [Measured(one.row) for one in known]


def _described(measured: Measured, complete: Paired, measure: Entry) -> Measured:
    """Add to an estimate what its clusters are, and where it is undefined."""
    row = measured.row
    if np.isnan(row.value):
        return Measured(replace(row, note="undefined: fewer than 2 pairs, or all scores of a side are equal"))
    equal = "both score distributions are the same" if measure.spec.is_one_sided and row.value == row.neutral else ""
    note = joined(equal, row.note, _left_out(measured.parts, complete))
    return replace(measured, row=replace(row, details=complete.cluster_details, note=note))


def _rows(
    paired: Paired, measures: Sequence[Entry], by: Sequence[str], settings: Settings, estimates: Estimates
) -> Iterator[Estimate | list[Estimate]]:
    """The estimates of one model, benchmark and scorer: overall, then for each column its groups and their contrasts."""
    for measure in measures:
        if not paired.supports(measure):
            continue
        yield estimates[id(paired), measure.name, EVERYTHING].row
        contrasts = measure.spec.contrasts
        for column in by:
            found = {name: estimates[id(paired), measure.name, (column, name)] for name in groups_of(paired, column)}
            yield [one.row for one in found.values()]
            if set(contrasts.get(column, ("",))) <= set(found):
                yield _contrast([found[name] for name in contrasts[column]], measure, settings)
        for column, within in measure.spec.variance_over.items():
            if column in by:
                yield from _domains(paired, measure, column, within, settings)


def _contrast(groups: Sequence[Measured], measure: Entry, settings: Settings) -> Estimate:
    """The size of the difference between two groups."""
    empty = [one.row.group for one in groups if not one.row.n]
    lacking = f"not computed: no pair about {empty[0]} groups has all its scores" if empty else ""
    return contrast(groups[0], groups[1], measure, settings, lacking)


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
        row = replace(_blank(paired, variance, within, name), n=int(at.sum()))
        rng = generator(settings.seed, "domain", paired.benchmark, name)
        yield estimate_spread(row, variance, per_item[at], complete.groups[column][at].to_numpy(), rng, settings)
