"""Forwarding a plan in batches, for probes that wait for each answer."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

from tiltmeter.models import Batch, LanguageModel, OutOfMemoryError
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.likelihood import Work
from tiltmeter.probes.plan import Plan

Result = TypeVar("Result")


def in_batches(
    model: LanguageModel, plan: Plan, budget: TokenBudget, work: Work, ask: Callable[[Batch, int], Result]
) -> Iterator[Result]:
    """What `ask` answers for each batch, in the plan's order; it is told at which sequence the batch begins."""
    first, sizes = 0, deque(budget.cuts(plan.lengths, attention=False))
    while sizes:
        batch, _ = plan.batch(first, sizes[0], model.tokens.pad_id, attention=False)
        try:
            found = ask(batch, first)
        except OutOfMemoryError:
            budget.failed(int(plan.lengths[first]), len(batch.lengths))
            sizes = deque(budget.cuts(plan.lengths[first:], attention=False))
            continue
        budget.fitted()
        work.computed.add(uuid.uuid4().hex[:12])
        work.sequences += len(batch.lengths)
        yield found
        first += sizes.popleft()
