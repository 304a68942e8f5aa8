"""Questions: a measure of some items of one model. All families estimate them, and compare two models' answers, alike."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.matching import common_places
from tiltmeter.stats.contrasts import contrast
from tiltmeter.stats.estimates import Details, Difference, Estimate, corrected, each_corrected, missing_columns
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.resampling import Ints, Sample
from tiltmeter.stats.samples import Measured, Streams, compare_samples, estimate_samples
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.progress import watched

MOST_THREADS = min(4, os.cpu_count() or 1)
"""Each thread holds draws: about 150 megabytes at 10,000 resamples."""
SIDES, MODELS = "sides", "models"
"""Kinds of random exchanges: of the two sides of items, or of two models."""


@dataclass(frozen=True)
class Counts:
    """Items that a question is about, and those with all that its measure reads.

    Questions of the same `key` are about the same items in the same order, and share their draws.
    """

    items: NDArray[np.object_]
    complete: NDArray[np.object_]
    missing: Counter[str]
    key: Hashable = None
    n_ties: int = 0
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Question(ABC):
    """One measure of the items of one group. A family says which items these are, and how they are resampled.

    Attributes:
        cell: Answers of one `model` to one `benchmark` by one `scorer`.
        measure: The measure.
        by: Column that items are grouped by; `all` is one group of all items.
        group: Group that the measure is about.
    """

    cell: Any
    measure: Entry
    by: str
    group: str

    FAMILY: ClassVar[str]
    UNDEFINED: ClassVar[str]
    """Note where the measure has no value."""

    @property
    @abstractmethod
    def lacking(self) -> str:
        """Note where no item is answered."""

    @cached_property
    @abstractmethod
    def counts(self) -> Counts:
        """Find the items."""

    @abstractmethod
    def take(self, index: Ints) -> Question:
        """Ask the same of some of the answered items, by position."""

    @abstractmethod
    def sample(self) -> Sample:
        """Make the answered items ready to be drawn from."""

    @abstractmethod
    def streams(self, settings: Settings, exchanged: str) -> Streams:
        """Make the sources of resamples, and of exchanges of `SIDES` or `MODELS` where these may be exchanged."""

    def described(self, measured: Measured) -> Estimate:
        """Add what a reader should know to an estimate that has a value."""
        return measured.row

    def obstacle(self, other: Question) -> str:
        """Return why the answers of another model to the same items are not compared; empty if they are."""
        return ""

    @cached_property
    def blank(self) -> Estimate:
        """The estimate without its value."""
        cell, counts, n = self.cell, self.counts, len(self.counts.complete)
        place = (cell.model, cell.benchmark, self.FAMILY, cell.scorer, self.measure.name, self.by, self.group)
        known = {"n_ties": counts.n_ties, "details": counts.details, **missing_columns(counts.missing)}
        return Estimate(*place, n=n, neutral=neutral_of(self.measure), note="" if n else self.lacking, **known)

    @property
    def is_contrasted(self) -> bool:
        """Return whether the group is compared with another."""
        return self.group in self.measure.spec.contrasts.get(self.by, ())


Batch = Question | Sequence[Question] | Estimate
"""A question; questions that are tested together; or an estimate that was made otherwise."""


def estimate_questions(batches: Iterable[Batch], settings: Settings) -> Iterator[Estimate]:
    """Estimate questions in their order. Those tested together have Holm's correction and the contrasts of their measure."""
    known = list(batches)
    estimates = _estimated([question for batch in known for question in _questions(batch)], settings)
    yield from each_corrected(rows for batch in known for rows in _rows(batch, estimates, settings))


def _questions(batch: Batch) -> Sequence[Question]:
    return batch if isinstance(batch, Sequence) else [batch] if isinstance(batch, Question) else []


def _rows(batch: Batch, estimates: Mapping[Question, Measured], settings: Settings) -> Iterator[Estimate | list[Estimate]]:
    """The rows of a batch. Where a measure is given both ways, either is the same test."""
    if not isinstance(batch, Sequence):
        yield batch if isinstance(batch, Estimate) else estimates[batch].row
        return
    rows = [estimates[question].row for question in batch]
    if batch and batch[0].measure.spec.both_ways:
        for one, other in zip(corrected(rows[::2]), rows[1::2], strict=True):
            yield from (one, replace(other, p_holm=one.p_holm, corrected_over=one.corrected_over))
        return
    yield rows
    of_groups = {question.group: estimates[question] for question in batch if question.is_contrasted}
    if len(of_groups) == 2:
        measure = batch[0].measure
        first, second = (of_groups[name] for name in measure.spec.contrasts[batch[0].by])
        lacking = [f"{one.row.note} ({one.row.group} groups)" for one in (first, second) if not one.row.n]
        yield contrast(first, second, measure, settings, next(iter(lacking), ""))


def _estimated(questions: Sequence[Question], settings: Settings) -> dict[Question, Measured]:
    """All estimates, computed in threads. Each has its own random stream, so the order does not matter."""
    tasks: dict[Hashable, list[Question]] = {}
    for one in questions:
        tasks.setdefault((one.cell.benchmark, one.measure.name, one.by, one.group), []).append(one)
    stop, estimates = Event(), dict[Question, Measured]()
    with watched("Estimating", len(tasks)) as advance, ThreadPoolExecutor(MOST_THREADS) as threads:  # numpy lets others run
        try:
            for found in threads.map(lambda task: {} if stop.is_set() else _finished(task, settings), tasks.values()):
                estimates |= found
                advance(1)
        except BaseException:  # Ctrl-C: leaving the pool waits for tasks that have begun
            stop.set()
            raise
    return estimates


def _finished(questions: Sequence[Question], settings: Settings) -> dict[Question, Measured]:
    """The estimates of a measure of one group by all models and scorers. Those about the same items share their draws."""
    alike: dict[Hashable, dict[Question, Question]] = {}
    for question in questions:
        copy = replace(question)  # what it computes is not kept
        alike.setdefault(copy.counts.key or id(copy), {})[question] = copy
    estimates: dict[Question, Measured] = {}
    for same in alike.values():
        estimates |= zip(same, _alike([*same.values()], settings), strict=True)
    return estimates


def _alike(questions: Sequence[Question], settings: Settings) -> list[Measured]:
    first, rows = questions[0], [question.blank for question in questions]
    if not rows[0].n:
        return [Measured(row) for row in rows]
    samples = [question.sample() for question in questions]
    measured = estimate_samples(first.measure, rows, samples, first.streams(settings, SIDES), settings)
    return [_described(*known) for known in zip(questions, measured, strict=True)]


def _described(question: Question, measured: Measured) -> Measured:
    if np.isnan(measured.row.value):
        return Measured(replace(measured.row, note=question.UNDEFINED))
    row = question.described(measured)
    return replace(measured, row=row) if question.is_contrasted else Measured(row)


def compare_questions(ours: Iterable[Batch], theirs: Iterable[Batch], settings: Settings) -> Iterator[Difference]:
    """Compare two models on the items that both have answers for. What is tested together has Holm's correction.

    Args:
        ours: The questions as the first model answered them.
        theirs: The questions as the second model answered them; those that it did not answer are left out.
        settings: Settings of resampling.
    """
    known = {_subject(question): question for batch in theirs for question in _questions(batch)}
    for batch in ours:
        both = ((question, known[_subject(question)]) for question in _questions(batch) if _subject(question) in known)
        rows = [_difference(*pair, settings) for pair in both]
        yield from corrected(rows) if isinstance(batch, Sequence) else rows


def _subject(question: Question) -> tuple[str, str, str]:
    return question.measure.name, question.by, question.group


def _difference(ours: Question, theirs: Question, settings: Settings) -> Difference:
    """One measure over the items that both models answered."""
    here, there = common_places(ours.counts.complete, theirs.counts.complete)
    n, n_all = len(here), len({*ours.counts.items, *theirs.counts.items})
    cell, models = ours.cell, (ours.cell.model, theirs.cell.model)
    row = Difference(cell.benchmark, ours.FAMILY, cell.scorer, *_subject(ours), *models, n=n, n_missing=n_all - n)
    sides = ours.take(here), theirs.take(there)
    if obstacle := sides[0].obstacle(sides[1]):
        return replace(row, note=obstacle)
    row = replace(row, details=sides[0].counts.details)
    if not n:
        return replace(row, note=f"{ours.lacking} by both models")
    samples = [side.sample() for side in sides]
    return compare_samples(row, ours.measure, samples, ours.streams(settings, MODELS), settings)
