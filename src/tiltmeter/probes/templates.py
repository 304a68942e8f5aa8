"""The template probe: log-probabilities of words in the slots of templates. Batched, without duplicates, cached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models import LanguageModel
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.passes import in_batches
from tiltmeter.probes.plan import Plan, make_plan
from tiltmeter.probes.shared_prefixes import sizes
from tiltmeter.probes.views import Query
from tiltmeter.probes.work import Advance, Work
from tiltmeter.storage.provenance import identity
from tiltmeter.storage.rows import RowCache, keys_of

Floats = NDArray[np.float64]
GROUP, ATTRIBUTE = "{group}", "{attribute}"


SAVE_EVERY = 2048
"""Queries between two writes to the cache. Those of one sequence are neighbours, so that one pass answers them all."""


class TemplateProbe:
    """Probe for the log-probabilities of many queries."""

    def __init__(
        self,
        model: LanguageModel,
        cache_root: Path | None = None,
        *,
        batch_tokens: int | str = "auto",
        version: int = 1,
    ) -> None:
        self.model = model
        self.tokens = model.tokens
        self.budget = TokenBudget(model, batch_tokens)
        self.work = Work()
        self.cache = RowCache(cache_root, identity(model, without=("max_length",), version=str(version)))
        self.computed = self.reused = 0
        self._ids: dict[tuple[str, bool], tuple[int, ...]] = {}

    def read(self, queries: Sequence[Query], advance: Advance | None = None) -> list[Floats]:
        """Log-probabilities of every query, one per column. Queries are numbered by their `sentence`."""
        advance = advance or (lambda _: None)
        keys = [tuple(keys_of((q.ids,), zip(q.columns, q.tokens, strict=True))) for q in queries]
        known = {key: float(row[0]) for key, row in self.cache.load([key for of_query in keys for key in of_query]).items()}
        self.reused += len(known)
        # The prior of a template is the same for every group: asked once, counted as often as it occurs.
        asked = Counter(of_query for of_query in keys if any(key not in known for key in of_query))
        advance(len(queries) - asked.total())
        missing = sorted(
            {of_query: q for q, of_query in zip(queries, keys, strict=True) if of_query in asked}.items(),
            key=_by_prefix if self.model.tree_rows else _by_length,
        )
        for first in range(0, len(missing), SAVE_EVERY):  # what is read is stored before more is asked
            part = missing[first : first + SAVE_EVERY]
            numbered = [q._replace(sentence=n, positions=tuple(range(len(q.columns)))) for n, (_, q) in enumerate(part)]
            plan = make_plan({0: numbered}, self.tokens.mask_id or 0, self.model.tree_rows)
            known |= self._ask(plan, [of_query for of_query, _ in part])
            advance(sum(asked[of_query] for of_query, _ in part))
        return [np.array([known[key] for key in of_query]) for of_query in keys]

    def _ask(self, plan: Plan, keys: Sequence[tuple[int, ...]]) -> dict[int, float]:
        """Ask the queries of a plan, which have these keys."""
        self.model.check_ids(plan.ids)
        self.model.check_ids(plan.reads.token)
        self.work.plan(plan.n_asked, len(plan), plan.tokens_asked)
        flat_keys = [key for of_query in keys for key in of_query]
        values = np.full(len(flat_keys), np.nan, dtype=np.float32)
        counts = sizes(keys)
        first, reads = np.cumsum(counts) - counts, plan.reads
        ask = self.model.logprobs  # no ranks: counting them costs more than the rest of a small model
        for some, logprobs in in_batches(self.model, plan, self.budget, self.work, lambda batch, _: ask(batch)):
            values[first[reads.sentence[some]] + reads.position[some]] = logprobs
        known = dict(zip(flat_keys, values.tolist(), strict=True))
        self.computed += len(known)
        self.cache.save(flat_keys, values[:, None])
        return known

    def pieces(self, word: str, template: str, slot: str) -> tuple[int, ...]:
        """The word's tokens in that slot; empty if the vocabulary cannot spell it."""
        inside = template.index(slot) > 0 and self.tokens.byte_level  # such tokenizers keep the space in front
        ids = self._encode((" " if inside else "") + word, special=False)
        return () if self.tokens.tokenizer.unk_token_id in ids else ids

    def _encode(self, text: str, *, special: bool = True) -> tuple[int, ...]:
        """Ids of a text, kept in memory: every group asks about the same attributes and priors."""
        if (text, special) not in self._ids:
            self._ids[text, special] = self.tokens.encode([text], special=special)[0].ids
        return self._ids[text, special]

    def masked(self, template: str, group: str | None, attribute: str | None, n_masks: int, read: str) -> Query | None:
        """A query: the template with words or masks (None) in its slots, and `n_masks` masks in the slot that is read.

        None where masks are lost in tokenising, or the text is too long.
        """
        mask = str(self.tokens.tokenizer.mask_token)
        filled = {GROUP: group or mask, ATTRIBUTE: attribute or mask} | {read: mask * n_masks}
        text = template
        for slot, fill in filled.items():
            text = text.replace(slot, fill)
        ids = self._encode(text)
        sites = [at for at, token in enumerate(ids) if token == self.tokens.mask_id]
        other = ATTRIBUTE if read == GROUP else GROUP
        n_other = int((group if other == GROUP else attribute) is None)
        if len(sites) != n_masks + n_other or len(ids) > (self.tokens.max_length or len(ids)):
            return None
        first = template.index(read) < template.index(other)
        columns = tuple(sites[:n_masks] if first else sites[n_other:])
        return Query(0, ids, columns, (0,) * n_masks, tuple(range(n_masks)))

    def first_mask(self, text: str, pieces: Sequence[int]) -> Query | None:
        """A query: the first of a word's tokens at the first [MASK] of a text. None if it has none, or does not fit."""
        mask = str(self.tokens.tokenizer.mask_token)
        ids = self._encode(text.replace("[MASK]", mask))
        sites = [at for at, token in enumerate(ids) if token == self.tokens.mask_id]
        if not pieces or len(sites) != text.count("[MASK]") or len(ids) > (self.tokens.max_length or len(ids)):
            return None
        return Query(0, ids, (sites[0],), (pieces[0],), (0,))

    def causal(self, template: str, group: str, attribute: str) -> Query | None:
        """A query: the template with both words, read from the attribute on. None if the attribute precedes the group."""
        start = template.replace(GROUP, group).index(ATTRIBUTE)
        if template.index(ATTRIBUTE) < template.index(GROUP):
            return None
        text = template.replace(GROUP, group).replace(ATTRIBUTE, attribute)
        encoded = self.tokens.encode([text], special=False, offsets=True)[0]
        if encoded.offsets is None or len(encoded.ids) > (self.tokens.max_length or len(encoded.ids)):
            return None
        read = tuple(at for at in range(len(encoded.ids)) if encoded.offsets[at][1] > start)
        ids = (self.tokens.bos_id or 0, *encoded.ids[:-1])
        return Query(0, ids, read, tuple(encoded.ids[at] for at in read), read)


def _by_length(entry: tuple[tuple[int, ...], Query]) -> tuple[int, tuple[int, ...]]:
    return len(entry[1].ids), entry[1].ids


def _by_prefix(entry: tuple[tuple[int, ...], Query]) -> tuple[int, ...]:
    return entry[1].ids
