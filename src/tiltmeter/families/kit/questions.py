"""Questions: a measure of what one model answered. All families estimate them, and compare two models' answers, alike."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any, ClassVar, Self, TypeVar

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
    """One measure of one group. A family says what it is about, and how that is resampled.

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
    """Note where the measure has no value, unless the estimate says why."""

    @property
    @abstractmethod
    def counted(self) -> dict[str, Any]:
        """Columns of the estimate that say how much it is about, such as n."""

    @abstractmethod
    def in_common(self, theirs: Any) -> tuple[Self, Any, dict[str, Any]]:
        """Ask the same about what both models answered; with columns of the difference that say how much that is."""

    def lacking(self, by_whom: str = "") -> str:
        """Return why nothing can be computed; empty if it can. `by_whom` ends the sentence where models are compared."""
        return ""

    @abstractmethod
    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Fill in the blank row of this question, and of others of the same key."""

    @abstractmethod
    def compared(self, row: Difference, theirs: Any, settings: Settings) -> Difference:
        """Fill in the difference from the same question to another model."""

    def described(self, measured: Measured) -> Estimate:
        """Add what a reader should know to an estimate that has a value."""
        return measured.row

    def obstacle(self, theirs: Any) -> str:
        """Return why the answers of another model to the same are not compared; empty if they are."""
        return ""

    @property
    def key(self) -> Hashable:
        """Questions of the same key are estimated together; those without are estimated alone."""
        return None

    @property
    def subject(self) -> Hashable:
        """The key by which the questions of two models are paired."""
        return self.measure.name, self.by, self.group

    @cached_property
    def blank(self) -> Estimate:
        """The estimate without its value."""
        cell = self.cell
        place = (cell.model, cell.benchmark, self.FAMILY, cell.scorer, self.measure.name, self.by, self.group)
        return Estimate(*place, neutral=neutral_of(self.measure), note=self.lacking(), **self.counted)

    @property
    def is_contrasted(self) -> bool:
        """Return whether the group is compared with another."""
        return self.group in self.measure.spec.contrasts.get(self.by, ())


class ItemQuestion(Question):
    """One measure of the items of one group."""

    @cached_property
    @abstractmethod
    def counts(self) -> Counts:
        """Find the items."""

    @abstractmethod
    def take(self, index: Ints) -> Self:
        """Ask the same of some of the complete items, by position."""

    @property
    def key(self) -> Hashable:
        """Questions about the same items share their draws."""
        return self.counts.key

    @property
    def counted(self) -> dict[str, Any]:
        """Count the items."""
        counts = self.counts
        columns = {"n": len(counts.complete), "n_ties": counts.n_ties, "details": counts.details}
        return columns | missing_columns(counts.missing)

    def in_common(self, theirs: Any) -> tuple[Self, Any, dict[str, Any]]:
        """Ask the same about the items that are complete in the answers of both models."""
        n_all = len({*self.counts.items, *theirs.counts.items})
        ours, theirs = with_common_items(self, theirs)
        n = len(ours.counts.complete)
        return ours, theirs, {"n": n, "n_missing": n_all - n, "details": ours.counts.details}


class SampleQuestion(ItemQuestion):
    """A question about a sample of items."""

    LACKING: ClassVar[str]
    """Note where no item is complete."""

    @abstractmethod
    def sample(self) -> Sample:
        """Make the complete items ready to be drawn from."""

    @abstractmethod
    def streams(self, settings: Settings) -> Streams:
        """Make the sources of resamples, of exchanges of sides and, where these may be exchanged, of two models."""

    def lacking(self, by_whom: str = "") -> str:
        """Return why nothing can be computed."""
        return "" if len(self.counts.complete) else f"{self.LACKING}{by_whom}"

    def estimated(self, others: Sequence[Any], settings: Settings) -> list[Measured]:
        """Estimate samples of the same items, which share their draws."""
        questions = [self, *others]
        rows, samples = [question.blank for question in questions], [question.sample() for question in questions]
        return estimate_samples(self.measure, rows, samples, self.streams(settings)[:2], settings)

    def compared(self, row: Difference, theirs: Any, settings: Settings) -> Difference:
        """Compare samples of the same items."""
        resampled, _, *exchanged = self.streams(settings)
        return compare_samples(row, self.measure, [self.sample(), theirs.sample()], [resampled, *exchanged], settings)


ItemQuestionT = TypeVar("ItemQuestionT", bound=ItemQuestion)
Batch = Question | Sequence[Question] | Estimate
"""A question; questions that are tested together; or an estimate that was made otherwise."""


def estimate_questions(batches: Iterable[Batch], settings: Settings) -> Iterator[Estimate]:
    """Estimate questions in their order. Those tested together have Holm's correction and the contrasts of their measure."""
    all_batches = list(batches)
    estimates = _estimated([question for batch in all_batches for question in _questions(batch)], settings)
    yield from each_corrected(rows for batch in all_batches for rows in _rows(batch, estimates, settings))


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
    for question in questions:
        task = question.cell.benchmark, question.measure.name, question.by, question.group
        tasks.setdefault(task, []).append(question)
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
    copies: dict[Hashable, dict[Question, Question]] = {}
    for question in questions:
        copy = replace(question)  # what it computes is not kept
        copies.setdefault(copy.key or id(copy), {})[question] = copy
    estimates: dict[Question, Measured] = {}
    for of_key in copies.values():
        estimates |= zip(of_key, _of_one_key([*of_key.values()], settings), strict=True)
    return estimates


def _of_one_key(questions: Sequence[Question], settings: Settings) -> list[Measured]:
    if questions[0].lacking():
        return [Measured(question.blank) for question in questions]
    measured = questions[0].estimated(questions[1:], settings)
    return [_described(*pair) for pair in zip(questions, measured, strict=True)]


def _described(question: Question, measured: Measured) -> Measured:
    if np.isnan(measured.row.value):
        return Measured(replace(measured.row, note=measured.row.note or question.UNDEFINED))
    row = question.described(measured)
    return replace(measured, row=row) if question.is_contrasted else Measured(row)


def compare_questions(ours: Iterable[Batch], theirs: Iterable[Batch], settings: Settings) -> Iterator[Difference]:
    """Compare two models on what both answered. What is tested together has Holm's correction.

    Args:
        ours: The questions as the first model answered them.
        theirs: The questions as the second model answered them; those that it did not answer are left out.
        settings: Settings of resampling.
    """
    reference = {question.subject: question for batch in theirs for question in _questions(batch)}
    for batch in ours:
        questions = (question for question in _questions(batch) if question.subject in reference)
        rows = [_difference(question, reference[question.subject], settings) for question in questions]
        yield from corrected(rows) if isinstance(batch, Sequence) else rows


def with_common_items(ours: ItemQuestionT, theirs: ItemQuestionT) -> tuple[ItemQuestionT, ItemQuestionT]:
    """Ask two models the same about the items that are complete in the answers of both."""
    here, there = common_places(ours.counts.complete, theirs.counts.complete)
    return ours.take(here), theirs.take(there)


def _difference(ours: Question, theirs: Question, settings: Settings) -> Difference:
    """One measure of what both models answered."""
    ours, theirs, columns = ours.in_common(theirs)
    about = (ours.measure.name, ours.by, ours.group, ours.cell.model, theirs.cell.model)
    row = Difference(ours.cell.benchmark, ours.FAMILY, ours.cell.scorer, *about, **columns)
    if obstacle := ours.obstacle(theirs):
        return replace(row, details={}, note=obstacle)
    lacking = ours.lacking(" by both models")
    return replace(row, note=lacking) if lacking else ours.compared(row, theirs, settings)
