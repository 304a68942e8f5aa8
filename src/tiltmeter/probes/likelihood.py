"""The likelihood probe: items and a model to a table of token observations, one shared pass for all views asked."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.models import LanguageModel, OutOfMemoryError
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.observations import Found, finished_table, part_table, problem_table
from tiltmeter.probes.plan import Plan, make_plan
from tiltmeter.probes.sentences import Sentence, tokenise
from tiltmeter.probes.views import VIEWS, Problem, Query, View
from tiltmeter.store import ObservationCache, batches_of

BLOCK_ITEMS = 2048
BLOCK_TOKENS = 2_000_000
Advance = Callable[[float], None]


@dataclass
class Work:
    """What a probe did: batches run now, batches found in the cache, sequences forwarded and spared."""

    computed: set[str] = field(default_factory=set)
    reused: set[str] = field(default_factory=set)
    sequences: int = 0
    duplicates: int = 0

    def counts(self) -> dict[str, int]:
        """For the manifest."""
        return {
            "batches_computed": len(self.computed),
            "batches_reused": len(self.reused - self.computed),
            "sequences_forwarded": self.sequences,
            "duplicate_sequences_spared": self.duplicates,
        }


@dataclass(frozen=True)
class Block:
    """Some items and their observations in each view."""

    items: Sequence[Item]
    tables: dict[str, pa.Table]


class LikelihoodProbe:
    """Asks one model about many items. Memory depends on the block, never on how many items there are."""

    def __init__(
        self,
        model: LanguageModel,
        cache: ObservationCache,
        *,
        batch_tokens: int | str = "auto",
        alignment: str = "auto",
        advance: Advance | None = None,
    ) -> None:
        self.model = model
        self.cache = cache
        self.alignment = alignment
        self.budget = TokenBudget(model, batch_tokens)
        self.advance: Advance = advance or (lambda _: None)
        self.work = Work()

    def observe(self, items: Sequence[Item], views: Sequence[str]) -> Iterator[Block]:
        """Block by block: from the cache where it is there, from the model where it is not."""
        for number, block in enumerate(blocks(items)):
            tables = {view: self.cache.load_block(view, number) for view in views}
            self.work.reused.update(*(batches_of(table) for table in tables.values() if table is not None))
            missing = [VIEWS[view] for view, table in tables.items() if table is None]
            if missing:
                tables |= self._fill(number, block, missing)
            else:
                self.advance(len(block))
            yield Block(block, {view: table for view, table in tables.items() if table is not None})

    def _fill(self, number: int, items: Sequence[Item], views: Sequence[View]) -> dict[str, pa.Table]:
        sentences = tokenise(self.model, items, self.alignment)
        found = Found(items, sentences, views, self.model.tokens)
        for batch, part in self.cache.load_parts(number).items():
            if found.add_part(part):
                self.work.reused.add(batch)
        queries, problems = self._ask(sentences, views, found)
        share = len(items) / max(1, sum(len(query.ids) for _, query in queries))
        if not queries:
            self.advance(len(items))
        for attention in (False, True):
            wanted = [(n, query) for n, query in queries if views[n].attention == attention]
            if wanted:
                self._run(number, make_plan(wanted), found, attention, share)
        tables = {}
        for n, view in enumerate(views):
            rows = problem_table([problem for at, problem in problems if at == n], n, found)
            tables[view.name] = finished_table(n, found, rows)
            self.cache.save_block(view.name, number, tables[view.name], self.work.computed | self.work.reused)
        self.cache.drop_parts(number)
        return tables

    def _ask(
        self, sentences: Sequence[Sentence], views: Sequence[View], found: Found
    ) -> tuple[list[tuple[int, Query]], list[tuple[int, Problem]]]:
        """Queries still to be answered, and sentences that cannot be asked: each with the number of its view."""
        askable = [self._trouble(len(one.content), len(one.ids)) for one in sentences]
        queries: list[tuple[int, Query]] = []
        problems = [(n, Problem(at, why)) for n in range(len(views)) for at, why in enumerate(askable) if why]
        for n, view in enumerate(views):
            for asked in view.ask(sentences, self.model.tokens):
                if askable[asked.sentence]:
                    continue
                if isinstance(asked, Problem):
                    problems.append((n, asked))
                elif trouble := self._trouble(1, len(asked.ids)):
                    problems.append((n, Problem(asked.sentence, trouble)))
                elif not found.has(n, asked.sentence, asked.positions[0]):
                    queries.append((n, asked))
        return queries, problems

    def _trouble(self, n_content: int, length: int) -> str | None:
        most = self.model.tokens.max_length
        if n_content == 0:
            return "no tokens besides special ones"
        return f"longer than the model's maximum of {most} tokens" if most and length > most else None

    def _run(self, number: int, plan: Plan, found: Found, attention: bool, share: float) -> None:
        """Forwards a plan's sequences in batches; each batch is stored as soon as it is answered."""
        self.work.duplicates += plan.n_queries - len(plan.sequences)
        answers = found.answers_for(plan)
        first = 0
        while first < len(plan.sequences):
            width = len(plan.sequences[first])
            size = self.budget.sequences(width, attention)
            batch, reads = plan.batch(first, size, self.model.tokens.pad_id, attention)
            try:
                answer = self.model.read(batch)
            except OutOfMemoryError:
                self.budget.failed(width, len(batch.lengths))
                continue
            self.budget.fitted()
            answers.put(reads, answer)
            name = uuid.uuid4().hex[:12]
            self.work.computed.add(name)
            self.work.sequences += len(batch.lengths)
            if self.cache.folder:
                self.cache.save_part(number, name, part_table(answers, reads, found))
            self.advance(share * int(batch.lengths.sum()))
            first += len(batch.lengths)


def blocks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Items in groups small enough to plan at once: by number, and by the work that masking each token makes."""
    group: list[Item] = []
    work = 0.0
    for item in items:
        cost = sum((len(text) / 4) ** 2 for text in item.texts.values())  # about four characters a token
        if group and (len(group) == BLOCK_ITEMS or work + cost > BLOCK_TOKENS):
            yield group
            group, work = [], 0.0
        group.append(item)
        work += cost
    if group:
        yield group


