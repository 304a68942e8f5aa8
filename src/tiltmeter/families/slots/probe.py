"""The slots probe: which words of which group fill a mask, with which probability and rank (Doughman et al., 2023).

A masked model predicts once per sentence; all terms of one piece are read from the same prediction, and ranked by
counting. Terms of n pieces are read from the sentence with n masks: the probability is exp(mean log-probability), and the
rank is that of this value among the vocabulary's predictions for one mask. Causal models: see `candidates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.families.slots.candidates import compared
from tiltmeter.families.slots.rows import Asked, Rows, predictions_table, rows_table
from tiltmeter.families.slots.terms import TermList, term_list
from tiltmeter.models import Ask, Batch, Filled, LanguageModel
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.passes import Span, in_batches
from tiltmeter.probes.plan import Plan, make_plan
from tiltmeter.probes.pooling import TOO_LONG
from tiltmeter.probes.views import Query
from tiltmeter.probes.work import WHOLE, Advance, Share, Work
from tiltmeter.storage.observations import ObservationCache, batches_of

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
MASK = "[MASK]"
BLOCK_ITEMS = {"masked": 256, "causal": 16}
"""Sentences stored at a time: the most that an interruption can lose. Causal models read each sentence once per term."""

PREDICTIONS_KEPT = 10


class Observed(NamedTuple):
    """The answers: every listed term, and the likeliest predictions."""

    slots: pa.Table
    predictions: pa.Table


@dataclass(frozen=True)
class Slot:
    """A sentence as the model sees it: its ids, where the mask is, and the character before it."""

    number: int
    ids: tuple[int, ...]
    at: int
    before: str


class SlotsProbe:
    """Queries one model for the terms that fill the slots of many sentences."""

    def __init__(
        self,
        model: LanguageModel,
        cache: ObservationCache,
        *,
        batch_tokens: int | str = "auto",
        advance: Advance | None = None,
        share: Share = WHOLE,
    ) -> None:
        self.model = model
        self.cache = cache
        self.share = share
        self.budget = TokenBudget(model, batch_tokens)
        self.advance: Advance = advance or (lambda _: None)
        self.work = Work()
        self.refused: set[tuple[str, str]] = set()
        self._lists: dict[str, TermList] = {}

    def observe(
        self, items: Sequence[Item], groups: Mapping[str, Sequence[str]]
    ) -> Iterator[tuple[Sequence[Item], Observed]]:
        """Every term and the likeliest predictions of every sentence; block by block, from the cache or else the model."""
        size = BLOCK_ITEMS[self.model.kind]
        for number, first in enumerate(range(0, len(items), size)):
            if self.share.has(number):
                block = items[first : first + size]
                yield block, self._block(number, block, groups)

    def _block(self, number: int, items: Sequence[Item], groups: Mapping[str, Sequence[str]]) -> Observed:
        known = [self.cache.load_block(name, number) for name in Observed._fields]
        if all(table is not None for table in known):
            observed = Observed(*known)
            self.work.reused.update(batches_of(observed.slots))
        else:
            before = set(self.work.computed)
            self.budget.at_block(number)
            asked = list(self._ask_masked(items, groups) if self.model.kind == "masked" else self._ask_causal(items, groups))
            observed = Observed(rows_table(items, list(groups), asked), predictions_table(items, asked, self._spelled))
            for name, table in observed._asdict().items():
                self.cache.save_block(name, number, table, self.work.computed - before)
        self.advance(len(items))
        return observed

    def _spelled(self, token: int) -> str:
        """A token as it is written in the sentence, without the space in front."""
        return self.model.tokens.decode([token]).strip()

    def _terms(self, groups: Mapping[str, Sequence[str]], before: str) -> TermList:
        if before not in self._lists:
            self._lists[before] = term_list(self.model.tokens, groups, before)
            self.refused.update(self._lists[before].refused)
        return self._lists[before]

    def _ask_masked(self, items: Sequence[Item], groups: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
        slots = list(self._slots(items))
        yield from (slot for slot in slots if isinstance(slot, Asked))
        kinds: dict[str, list[Slot]] = {}
        for slot in slots:
            if isinstance(slot, Slot):
                kinds.setdefault(slot.before, []).append(slot)
        together: dict[TermList, list[Slot]] = {}  # most tokenizers write a term alike in every position
        for before, alike in kinds.items():
            together.setdefault(self._terms(groups, before), []).extend(alike)
        for terms, alike in together.items():
            yield from self._read(alike, terms)

    def _slots(self, items: Sequence[Item]) -> Iterator[Slot | Asked]:
        """Each sentence with the model's own mask, or the reason why it cannot be filled."""
        texts = [item.texts["slot"] for item in items]
        mask = self.model.tokens.tokenizer.mask_token
        for number, (text, encoded) in enumerate(
            zip(texts, self.model.tokens.encode([text.replace(MASK, mask) for text in texts]), strict=True)
        ):
            at = [place for place, token in enumerate(encoded.ids) if token == self.model.tokens.mask_id]
            if len(at) != 1:
                yield Asked(number, reason=f"{len(at)} masks after tokenising")
            elif self._too_long(len(encoded.ids)):
                yield Asked(number, reason=TOO_LONG.format(self.model.tokens.max_length))
            else:
                yield Slot(number, encoded.ids, at[0], _before(text))

    def _too_long(self, length: int) -> bool:
        return length > (self.model.tokens.max_length or length)

    def _read(self, slots: Sequence[Slot], terms: TermList) -> Iterator[Asked]:
        """Reads all terms, longer ones first: their log-probabilities are ranked in the pass with one mask."""
        logprob = np.full((len(slots), len(terms.terms)), np.nan, dtype=np.float32)
        rank = np.zeros(logprob.shape, dtype=np.int64)
        several = np.concatenate([np.empty(0, dtype=np.int64), *(at for n, at in terms.by_length.items() if n > 1)])
        for length, at in terms.by_length.items():
            fitting = np.array([n for n, slot in enumerate(slots) if not self._too_long(len(slot.ids) + length - 1)])
            if length > 1 and len(fitting):
                plan = self._plan([slots[n] for n in fitting], length)
                filled = self._run(plan, terms.ids(length), None)
                logprob[np.ix_(fitting, at)] = filled.logprob[_sequence_of(plan)]
        single = terms.by_length.get(1, np.empty(0, dtype=np.int64))
        plan = self._plan(slots, 1)
        sequence = _sequence_of(plan)
        values = np.empty((len(plan), len(several)), dtype=np.float32)
        values[sequence] = logprob[:, several]
        tokens = terms.ids(1) if len(single) else np.empty((1, 0), dtype=np.int64)
        filled = self._run(plan, tokens, values, top=min(PREDICTIONS_KEPT, self.model.vocabulary))
        logprob[:, single], rank[:, single] = filled.logprob[sequence], filled.rank[sequence]
        rank[:, several] = filled.value_rank[sequence]
        top = filled.top_token[sequence], filled.top_logprob[sequence]
        rows = Rows(terms.terms, logprob, np.where(np.isnan(logprob), 0, rank), "vocabulary", *top)
        yield from (Asked(slot.number, n, rows) for n, slot in enumerate(slots))

    def _plan(self, slots: Sequence[Slot], masks: int) -> Plan:
        mask = self.model.tokens.mask_id or 0
        queries = [
            Query(
                sentence=n,
                ids=(*slot.ids[: slot.at], *(mask,) * masks, *slot.ids[slot.at + 1 :]),
                columns=tuple(range(slot.at, slot.at + masks)),
                tokens=(0,) * masks,
                positions=tuple(range(masks)),
            )
            for n, slot in enumerate(slots)
        ]
        plan = make_plan({0: queries}, mask)
        self.model.check_ids(plan.ids)
        self.work.plan(plan.n_asked, len(plan), plan.tokens_asked)
        return plan

    def _run(self, plan: Plan, tokens: Ints, values: Floats | None, top: int = 0) -> Filled:
        """All sequences of a plan, in batches, in the plan's order."""

        def ask(batch: Batch, span: Span) -> Filled:
            part = None if values is None else values[span.first : span.first + span.size]
            return self.model.fill(batch, Ask(tokens, part, top))

        parts = [filled for _, filled in in_batches(self.model, plan, self.budget, self.work, ask)]
        return Filled(*(np.concatenate(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True)))

    def _ask_causal(self, items: Sequence[Item], groups: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
        self._terms(groups, " ")  # collects the terms that cannot be expressed
        words = {group: [w for w in of if (group, w) not in self.refused] for group, of in groups.items()}

        def read(plan: Plan) -> Floats:
            self.work.plan(plan.n_asked, len(plan), plan.tokens_asked)
            parts = in_batches(self.model, plan, self.budget, self.work, lambda batch, _: self.model.logprobs(batch))
            return np.concatenate([logprobs for _, logprobs in parts])

        yield from compared(self.model, items, words, read)

    def top(self, items: Sequence[Item], k: int) -> list[tuple[Ints, Floats]]:
        """The k likeliest tokens of each sentence and their log-probabilities, best first. Only this needs sorting."""
        slots = [slot for slot in self._slots(items) if isinstance(slot, Slot)]
        plan = self._plan(slots, 1)
        filled = self._run(plan, np.empty((1, 0), dtype=np.int64), None, top=k)
        return [(filled.top_token[n], filled.top_logprob[n]) for n in _sequence_of(plan)]


def _before(text: str) -> str:
    """The character in front of the mask: empty at the start, one space for any white space, or another character."""
    last = text[: text.index(MASK)][-1:]
    return " " if last.isspace() else last


def _sequence_of(plan: Plan) -> Ints:
    """Which of the plan's sequences each sentence became: equal ones are forwarded once."""
    first = plan.reads.position == 0
    sequences = np.empty(int(first.sum()), dtype=np.int64)
    sequences[plan.reads.sentence[first]] = plan.reads.sequence[first]
    return sequences
