"""The one batch loop: sequences in batches, longest first. A batch that does not fit into memory is split and retried."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models import Batch, LanguageModel, OutOfMemoryError
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.plan import Plan
from tiltmeter.probes.work import Work

Result = TypeVar("Result")


class Span(NamedTuple):
    """Sequences of a batch: `size` of them from `first` on."""

    first: int
    size: int


def batched(
    lengths: NDArray[np.int64],
    budget: TokenBudget,
    run: Callable[[Span], Result],
    *,
    attention: bool = False,
    before_retry: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Span, Result]]:
    """Yield the result of `run` for each batch of sequences of these lengths (longest first), in order."""
    first, sizes = 0, deque(budget.cuts(lengths, attention)) if len(lengths) else deque()
    while sizes:
        span = Span(first, sizes[0])
        try:
            result = run(span)
        except OutOfMemoryError:
            before_retry()
            budget.failed(int(lengths[first]), span.size)
            sizes = deque(budget.cuts(lengths[first:], attention))
            continue
        budget.fitted()
        yield span, result
        first += sizes.popleft()


def in_batches(
    model: LanguageModel, plan: Plan, budget: TokenBudget, work: Work, ask: Callable[[Batch, Span], Result]
) -> Iterator[tuple[slice, Result]]:
    """Yield the result of `ask` for each batch of a plan, with its reads, for probes that wait for each result."""

    def run(span: Span) -> tuple[slice, Result]:
        batch, reads = plan.batch(span.first, span.size, model.tokens.pad_id, attention=False)
        return reads, ask(batch, span)

    for span, answered in batched(plan.lengths, budget, run):
        work.computed.add(uuid.uuid4().hex[:12])
        work.forwarded(plan.lengths[span.first : span.first + span.size])
        yield answered
