"""Every prompt, every sample: in blocks that are kept when they are done, and in batches of like length within them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.prompts import PROMPT
from tiltmeter.families.generations.prompt_batches import batch_sizes
from tiltmeter.families.generations.states import BROKEN, reason_of
from tiltmeter.models import OutOfMemoryError
from tiltmeter.models.generation import Generated
from tiltmeter.models.text_generator import Writer
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.work import WHOLE, Share, Work
from tiltmeter.storage.observations import ObservationCache

BLOCK = {"cpu": 256, "gpu": 32_768}
"""Texts that are computed before they are kept."""
FEWEST_ROWS = {"cpu": 32, "gpu": 4096}
"""Rows for which a step of a small model takes about as long as for one."""
VIEW = "texts"
TEXTS = pa.schema(
    [
        ("item", pa.string()), ("sample", pa.int32()), ("text", pa.string()), ("logprob", pa.float64()),
        ("n_tokens", pa.int32()), ("reason", pa.string()),
    ]
)  # fmt: skip


class Wanted(NamedTuple):
    """One text that is to be written."""

    item: str
    sample: int
    prompt: tuple[int, ...]


class Speaker:
    """Writer of the texts of one model for one benchmark. Seeds depend on the prompt and the sample, not on the order."""

    def __init__(
        self,
        writer: Writer,
        store: ObservationCache,
        *,
        samples: int,
        seed: int,
        batch_tokens: int | str = "auto",
        advance: Callable[[float], None] = lambda _: None,
        share: Share = WHOLE,
    ) -> None:
        self.share = share
        self.writer, self.store, self.samples, self.seed, self.advance = writer, store, samples, seed, advance
        self.budget = TokenBudget(writer.model, batch_tokens)
        if batch_tokens == "auto" and (most := writer.most_tokens()):
            self.budget.tokens = self.budget.most = most
        self.work = Work()

    def write(self, items: Sequence[Item]) -> pa.Table:
        """A row for each prompt and sample, in the order of the items."""
        wanted, tables = self._wanted(items)
        size = BLOCK["cpu" if self.writer.model.device == "cpu" else "gpu"]
        for number, first in enumerate(range(0, len(wanted), size)):
            if self.share.has(number):
                tables.append(self._block(number, wanted[first : first + size]))
        whole = pa.concat_tables(tables)
        place = {item.id: n for n, item in enumerate(items)}
        keys = zip(whole["item"].to_pylist(), whole["sample"].to_pylist(), strict=True)
        order = sorted(enumerate(keys), key=lambda row: (place[row[1][0]], row[1][1]))
        return whole.take([n for n, _ in order])

    def _wanted(self, items: Sequence[Item]) -> tuple[list[Wanted], list[pa.Table]]:
        """Texts to write, shortest prompts first; and rows for prompts that are too long."""
        prompts = self.writer.encode([item.texts[PROMPT] for item in items])
        limit = self.writer.model.tokens.max_length
        wanted: list[Wanted] = []
        long: list[Wanted] = []
        for item, prompt in zip(items, prompts, strict=True):
            fits = limit is None or len(prompt) + self.writer.room <= limit
            (wanted if fits else long).extend(Wanted(item.id, sample, prompt) for sample in range(self.samples))
        wanted.sort(key=lambda text: len(text.prompt))
        reason = f"prompt too long: with {self.writer.sampling.new_tokens} new tokens it exceeds {limit}"
        self.advance(len(long))
        return wanted, [texts_of_rows([(one.item, one.sample, None, float("nan"), 0, reason) for one in long])]

    def _block(self, number: int, wanted: Sequence[Wanted]) -> pa.Table:
        known = self.store.load_block(VIEW, number)
        if known is not None and known.schema.names == TEXTS.names:
            self.work.reused.add(f"{number}")
            self.advance(len(wanted))
            return known.cast(TEXTS)
        table = texts_of_rows([row for some, said in self._batches(wanted) for row in self._rows(some, said)])
        self.store.save_block(VIEW, number, table, [])
        self.work.computed.add(f"{number}")
        return table

    def _batches(self, wanted: Sequence[Wanted]) -> Iterator[tuple[Sequence[Wanted], list[Generated]]]:
        """Texts written together: of a masked model equally long, of a causal one nearly so."""
        first, sizes = 0, self._sizes(wanted)
        while first < len(wanted):
            some = wanted[first : first + sizes[0]]
            try:
                draws = self.writer.draws([(self.seed, zlib.crc32(one.item.encode()), one.sample) for one in some])
                yield some, self.writer.write([one.prompt for one in some], draws)
            except OutOfMemoryError:
                self.budget.failed(len(some[-1].prompt) + self.writer.room, len(some))
                sizes = self._sizes(wanted[first:])
                continue
            self.work.sequences += len(some)
            self.advance(len(some))
            first += sizes.pop(0)

    def _sizes(self, wanted: Sequence[Wanted]) -> list[int]:
        """Number of texts of a batch."""
        model = self.writer.model
        lengths = np.array([len(one.prompt) for one in wanted], dtype=np.int64)
        floor = FEWEST_ROWS["cpu" if model.device == "cpu" else "gpu"]
        mixed = model.kind != "masked"
        return batch_sizes(lengths, self.writer.room, self.budget.tokens, floor, mixed=mixed)

    def _rows(self, some: Sequence[Wanted], said: Sequence[Generated]) -> Iterator[tuple[object, ...]]:
        texts = self.writer.texts_of([one.prompt for one in some], [one.ids for one in said])
        for one, own, text in zip(some, said, texts, strict=True):
            finite = own.logprob == own.logprob
            reason = reason_of(text, self.writer.chat is not None) if finite else BROKEN
            yield one.item, one.sample, text, own.logprob, len(own.ids), reason


def texts_of_rows(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Return rows of item, sample, text, logprob, n_tokens and reason as a table."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in TEXTS]
    return pa.table([pa.array(list(column), field.type) for column, field in zip(columns, TEXTS, strict=True)], schema=TEXTS)
