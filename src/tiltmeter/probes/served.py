"""The probe of served models: token observations of items from the log-probabilities that a server gives of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.models import Encoded, ServedModel
from tiltmeter.models.served import Asker, Missing, Scored
from tiltmeter.models.served.checks import plain_token
from tiltmeter.probes.likelihood import Block, blocks
from tiltmeter.probes.readability import Readable
from tiltmeter.probes.sentences import modified_positions
from tiltmeter.probes.work import WHOLE, Share, Work
from tiltmeter.storage.observations import OBSERVATIONS, ObservationCache

VIEW = "causal"
NO_FIRST_TOKEN = "the sentences differ in their first token, for which the server gives no log-probability"


class ServedProbe:
    """Queries one served model about many items. Memory depends on the block; answers are journaled one by one."""

    def __init__(
        self,
        model: ServedModel,
        store: ObservationCache,
        cache: bool | str | Path,
        *,
        alignment: str = "auto",
        share: Share = WHOLE,
    ) -> None:
        self.model, self.store, self.cache, self.alignment, self.share = model, store, cache, alignment, share
        self.advance: Callable[..., None] = lambda *_: None
        self.work = Work()
        self.readable = Readable()

    def observe(self, items: Sequence[Item], views: Sequence[str]) -> Iterator[Block]:
        """Give the observations of each block, from the cache or else from the server."""
        assert tuple(views) == (VIEW,)
        with self.model.asking(self.cache) as asker:
            for number, block in enumerate(blocks(items)):
                if self.share.has(number):
                    yield Block(block, {VIEW: self._table(number, block, asker)})

    def _table(self, number: int, items: Sequence[Item], asker: Asker) -> pa.Table:
        known = self.store.load_block(VIEW, number)
        if known is not None:
            self.work.reused.add(f"{number}")
            self.advance(len(items))
            return known
        texts = [text for item in items for text in item.texts.values()]
        each = len(items) / max(1, len(texts))
        found = iter(asker.logprobs(texts, lambda n, *note: self.advance(n * each, *note)))
        self.work.sequences += len(texts)
        self.work.computed.add(f"{number}")
        rows = [row for item in items for row in self._rows(item, {role: next(found) for role in item.texts})]
        table = _as_table(rows)
        if not any(row["reason"] and row["is_passing"] for row in rows):  # what failed may be answered next time
            self.store.save_block(VIEW, number, table, [])
        return table

    def _rows(self, item: Item, roles: dict[str, Scored | Missing]) -> Iterator[dict[str, Any]]:
        """Give the rows of one item: a token each, or the reason why there are none."""
        texts = {role: found for role, found in roles.items() if isinstance(found, Scored)}
        bodies = {role: _body(found, self.model.first_token) for role, found in texts.items()}
        starts = {body.tokens[0] for body in bodies.values() if body.tokens}
        refused = NO_FIRST_TOKEN if self.model.first_token is None and len(starts) > 1 else None
        spelled = _encoded({role: body.tokens for role, body in bodies.items()})
        modified = modified_positions(item, spelled, self.alignment) if set(spelled) == set(roles) else {}
        for role, found in roles.items():
            place = {"item": item.id, "role": role}
            if isinstance(found, Missing) or refused:
                reason = found.reason if isinstance(found, Missing) else refused
                passing = isinstance(found, Missing) and not found.is_final
                yield {**place, "position": -1, "reason": reason, "is_passing": passing}
                continue
            for position, (token, value) in enumerate(zip(bodies[role].tokens, bodies[role].logprobs, strict=True)):
                if np.isfinite(value):  # the first one of a text has no log-probability if nothing stands before it
                    changed = position in modified.get(role, ())
                    yield {**place, "position": position, "token": token, "logprob": value, "modified": changed,
                           "reason": None, "is_passing": False}  # fmt: skip


def _body(scored: Scored, first_token: str | None) -> Scored:
    """Return the tokens of the text itself."""
    return scored if first_token is None else Scored(scored.tokens[1:], scored.logprobs[1:])


def _encoded(roles: dict[str, tuple[str, ...]]) -> dict[str, Encoded]:
    """Return tokens as a tokenizer would: with numbers for their texts, and the places of their characters."""
    numbers: dict[str, int] = {}
    found = {}
    for role, tokens in roles.items():
        ids = tuple(numbers.setdefault(token, len(numbers)) for token in tokens)
        ends = np.cumsum([0, *(len(plain_token(token)) for token in tokens)])
        offsets = tuple((start, end) for start, end in pairwise(ends.tolist()))
        found[role] = Encoded(ids, tuple(range(len(ids))), offsets)
    return found


def _as_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    defaults = {"view": VIEW, "token": "", "token_id": -1, "special": False, "modified": False, "logprob": float("nan"),
                "rank": 0, "attention": float("nan"), "block_logprob": float("nan")}  # fmt: skip
    columns = []
    for field in OBSERVATIONS:
        values = [row.get(field.name, defaults.get(field.name)) for row in rows]
        if pa.types.is_dictionary(field.type):
            columns.append(pa.array(values, pa.string()).dictionary_encode())
        else:
            columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=OBSERVATIONS)
