"""The likelihood probe: gives a table of token observations of items, with one shared pass for all views."""

from __future__ import annotations

import math
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

import numpy as np
import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.models import Batch, LanguageModel, Pending
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.observations import Collected, Replies, finished_table, part_table, unasked_table
from tiltmeter.probes.passes import Span, batched
from tiltmeter.probes.plan import Plan, make_plan
from tiltmeter.probes.pooling import NO_TOKENS, TOO_LONG
from tiltmeter.probes.readability import Readable
from tiltmeter.probes.sentences import Sentence, tokenise
from tiltmeter.probes.views import Query, Unasked, View, find_view
from tiltmeter.probes.work import WHOLE, Advance, Share, Work
from tiltmeter.storage.garbage import paused_collector
from tiltmeter.storage.observations import ObservationCache, batches_of

BLOCK_ITEMS = (300, 700)
BLOCK_TOKENS = 500_000
RUNNING_AT_ONCE = 32


@dataclass(frozen=True)
class Block:
    """Some items and their observations in each view."""

    items: Sequence[Item]
    tables: dict[str, pa.Table]


@dataclass
class OpenBlock:
    """A block in progress: answers so far, sentences that cannot be scored, and the batches of each view."""

    number: int
    items: Sequence[Item]
    tables: dict[str, pa.Table]
    views: Sequence[View]
    collected: Collected | None = None
    unasked: dict[int, list[Unasked]] = field(default_factory=dict)
    batches: set[tuple[int, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Running:
    """A pass that is still running, and where its answer is stored."""

    block: OpenBlock
    answers: Replies
    reads: slice
    pending: Pending
    batch: Batch
    share: float


class LikelihoodProbe:
    """Probe for the token log-probabilities of many items. Memory depends on the block, not on the number of items."""

    def __init__(
        self,
        model: LanguageModel,
        cache: ObservationCache,
        *,
        batch_tokens: int | str = "auto",
        alignment: str = "auto",
        advance: Advance | None = None,
        share: Share = WHOLE,
    ) -> None:
        self.model = model
        self.cache = cache
        self.alignment = alignment
        self.share = share
        self.budget = TokenBudget(model, batch_tokens)
        self.advance: Advance = advance or (lambda _: None)
        self.work = Work()
        self.readable = Readable()
        self.running: deque[Running] = deque()

    def observe(self, items: Sequence[Item], views: Sequence[str]) -> Iterator[Block]:
        """Observations block by block, from the cache or else from the model.

        A block is planned while a GPU still works on the one before it.
        """
        before: OpenBlock | None = None
        for number, block in enumerate(blocks(items)):
            if not self.share.has(number):
                continue
            self.budget.at_block(number)
            with paused_collector():
                now = self._open(number, block, views)
            if before:
                yield self._close(before)
            before = now
        if before:
            yield self._close(before)

    def _open(self, number: int, items: Sequence[Item], names: Sequence[str]) -> OpenBlock:
        """Load the stored answers of a block and start the passes for the rest."""
        tables = {name: self.cache.load_block(name, number) for name in names}
        known = {name: table for name, table in tables.items() if table is not None}
        self.work.reused.update(*(batches_of(table) for table in known.values()))
        views = [find_view(name) for name in names if name not in known]
        block = OpenBlock(number, items, known, views)
        if not views:
            self.advance(len(items))
            return block
        sentences = tokenise(self.model, items, self.alignment, self.readable)
        block.collected = collected = Collected(items, sentences, views, self.model.tokens)
        for batch, part in self.cache.load_parts(number).items():
            for view in collected.add_part(part):
                self.work.reused.add(batch)
                block.batches.add((view, batch))
        queries, block.unasked = self._ask(sentences, views, collected)
        plans = {
            attention: make_plan(wanted, self.model.tokens.mask_id or 0, self.model.tree_rows)
            for attention in (False, True)
            if (wanted := {n: asked for n, asked in queries.items() if asked and views[n].attention == attention})
        }
        share = len(items) / max(1, sum(int(plan.lengths.sum()) for plan in plans.values()))
        for attention, plan in plans.items():
            self.model.check_ids(plan.ids)
            self.model.check_ids(plan.reads.token)
            self._run(block, plan, attention, share)
        if not plans:
            self.advance(len(items))
        return block

    def _close(self, block: OpenBlock) -> Block:
        """Wait for what is still running, and store the finished views of the block."""
        if block.collected is None:
            self.cache.drop_parts(block.number)  # those of a run that was killed when it had stored all views
            return Block(block.items, block.tables)
        self._collect(leave=0, of=block)
        for n, view in enumerate(block.views):
            table = finished_table(n, block.collected, unasked_table(block.unasked[n], n, block.collected))
            block.tables[view.name] = table
            self.cache.save_block(view.name, block.number, table, {name for at, name in block.batches if at == n})
        self.cache.drop_parts(block.number)
        return Block(block.items, block.tables)

    def _ask(
        self, sentences: Sequence[Sentence], views: Sequence[View], collected: Collected
    ) -> tuple[dict[int, list[Query]], dict[int, list[Unasked]]]:
        """List, by view, the open queries and the sentences that cannot be scored."""
        reasons = [self._reason(len(sentence.content), len(sentence.ids)) for sentence in sentences]
        general = [Unasked(n, reason) for n, reason in enumerate(reasons) if reason]
        queries: dict[int, list[Query]] = {}
        unasked: dict[int, list[Unasked]] = {}
        most = self.model.tokens.max_length or math.inf
        for number, view in enumerate(views):
            unasked[number] = list(general)
            queries[number] = []
            for query in view.ask(sentences, self.model.tokens):
                if reasons[query.sentence]:
                    continue
                if isinstance(query, Unasked):
                    unasked[number].append(query)
                elif len(query.ids) > most:  # the BOS, or a longer fill, may be too much
                    unasked[number].append(Unasked(query.sentence, self._reason(1, len(query.ids)) or ""))
                elif rest := collected.remaining(number, query):
                    queries[number].append(rest)
        return queries, unasked

    def _reason(self, n_content: int, length: int) -> str | None:
        """Reason why a sentence cannot be scored; None if it can."""
        most = self.model.tokens.max_length
        if n_content == 0:
            return NO_TOKENS
        return TOO_LONG.format(most) if most and length > most else None

    def _run(self, block: OpenBlock, plan: Plan, attention: bool, share: float) -> None:
        """Forward a plan's sequences in batches; each batch is stored as soon as it is answered."""
        assert block.collected is not None
        self.work.plan(plan.n_asked, len(plan), plan.tokens_asked)
        answers = block.collected.answers_for(plan)

        def begin(span: Span) -> Running:
            batch, reads = plan.batch(span.first, span.size, self.model.tokens.pad_id, attention)
            return Running(block, answers, reads, self.model.begin(batch), batch, share)

        passes = batched(plan.lengths, self.budget, begin, attention=attention, before_retry=lambda: self._collect(leave=0))
        for _, running in passes:
            self.running.append(running)
            self._collect(leave=RUNNING_AT_ONCE if self.model.device != "cpu" else 0)

    def _collect(self, leave: int, of: OpenBlock | None = None) -> None:
        """Store answers, oldest first, until only `leave` passes (of that block) are still running."""
        while len(self.running) > leave and (of is None or self.running[0].block is of):
            oldest = self.running.popleft()
            assert oldest.block.collected is not None
            oldest.answers.put(oldest.reads, oldest.pending.answer())
            name = uuid.uuid4().hex[:12]
            oldest.block.batches.update((int(view), name) for view in np.unique(oldest.answers.reads.view[oldest.reads]))
            self.work.computed.add(name)
            self.work.forwarded(oldest.batch.lengths)
            if self.cache.folder:
                self.cache.save_part(
                    oldest.block.number, name, part_table(oldest.answers, oldest.reads, oldest.block.collected)
                )
            self.advance(oldest.share * int(oldest.batch.lengths.sum()))


def blocks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Items in groups small enough to plan at once, by number and by length.

    The first is smaller, so that a GPU starts early; it is still busy with one while the next is prepared.
    """
    group: list[Item] = []
    tokens, sizes = 0.0, chain(BLOCK_ITEMS, repeat(BLOCK_ITEMS[-1]))
    most = next(sizes)
    for item in items:
        cost = sum(len(text) / 4 for text in item.texts.values())  # about four characters a token
        if group and (len(group) == most or tokens + cost > BLOCK_TOKENS):
            yield group
            group, tokens, most = [], 0.0, next(sizes)
        group.append(item)
        tokens += cost
    if group:
        yield group
