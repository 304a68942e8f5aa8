"""Protocols that read log-probabilities: of option letters, of answer texts, of answers in a cloze."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.errors import ModelError
from tiltmeter.families.choices.prompts import LETTERS, Prompt
from tiltmeter.models import LanguageModel
from tiltmeter.probes.templates import TemplateProbe
from tiltmeter.probes.views import Query
from tiltmeter.probes.work import Advance

TOO_LONG = "longer than the model's window"
NOT_FINITE = "the model's output is not finite"


@dataclass(frozen=True)
class Reading:
    """The log-probabilities of the answers to one item in one order, by number of the answer; or why there are none."""

    item: str
    order: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    reason: str | None = None


class Reader:
    """Reader of log-probabilities of answers of one model, in one prompt."""

    def __init__(self, model: LanguageModel, probe: TemplateProbe, prompt: Prompt, *, chat: bool = False) -> None:
        self.model, self.probe, self.prompt, self.chat = model, probe, prompt, chat
        self._letters: tuple[int, ...] = ()

    def letters(
        self, items: Sequence[Item], orders: Callable[[Item], Iterable[tuple[int, ...]]], advance: Advance
    ) -> list[Reading]:
        """Read the log-probability of every option letter behind the prompt, in one pass for each order."""
        asked = [(item, order) for item in items for order in orders(item)]
        texts = [self.prompt.lettered(item, order) for item, order in asked]
        letters = self._letter_ids()
        queries = [
            self._query(row, (len(row) - 1,) * len(order), letters[: len(order)])
            for (_, order), row in zip(asked, self._encode(texts), strict=True)
        ]
        read = self._read(queries, advance)
        return [
            make_reading(item.id, order, None if row is None else sorted_by_answer(row, order))
            for (item, order), row in zip(asked, read, strict=True)
        ]

    def texts(self, items: Sequence[Item], advance: Advance) -> list[Reading]:
        """Read the log-likelihood of every answer text behind the question."""
        asked = [(item, answer) for item in items for answer in self.prompt.answers(item)]
        starts = self._encode([self.prompt.open(item) for item, _ in asked])
        queries: list[Query | None] = []
        for (_, answer), start in zip(asked, starts, strict=True):
            said = self._continuation(answer)
            whole = (*start, *said)
            columns = tuple(range(len(start) - 1, len(whole) - 1))
            queries.append(self._query(whole[:-1], columns, said))
        return self._of_answers(items, queries, advance)

    def cloze(self, items: Sequence[Item], advance: Advance) -> list[Reading]:
        """Read the pseudo-log-likelihood of every answer in a sentence, one token masked at a time."""
        asked = [(item, answer) for item in items for answer in self.prompt.answers(item)]
        parts = [self.prompt.cloze_of(item, answer) for item, answer in asked]
        texts = [before + answer + after for (before, after), (_, answer) in zip(parts, asked, strict=True)]
        queries: list[Query | None] = []
        for encoded, (before, _), (_, answer) in zip(
            self.model.tokens.encode(texts, offsets=True), parts, asked, strict=True
        ):
            if encoded.offsets is None:
                raise ModelError(
                    f"{self.model.name}: its tokenizer does not report the positions of words (it is not a fast one).",
                    code="missing-capability", model=self.model.name, capability="fast tokenizer",
                )  # fmt: skip
            first, last = len(before), len(before) + len(answer)
            columns = tuple(at for at in encoded.content if encoded.offsets[at][1] > first and encoded.offsets[at][0] < last)
            tokens = tuple(encoded.ids[at] for at in columns)
            query = self._query(encoded.ids, columns, tokens)
            queries.append(None if query is None else query._replace(one_by_one=True))
        return self._of_answers(items, queries, advance)

    def _of_answers(self, items: Sequence[Item], queries: Sequence[Query | None], advance: Advance) -> list[Reading]:
        read = iter(zip(self._read(queries, advance), queries, strict=True))
        found = []
        for item in items:
            n = len(self.prompt.answers(item))
            rows = [next(read) for _ in range(n)]
            order = tuple(range(n))
            if any(row is None for row, _ in rows):
                found.append(Reading(item.id, order, reason=TOO_LONG))
                continue
            sums = [float(np.sum(row)) for row, _ in rows if row is not None]
            lengths = tuple(len(query.columns) for _, query in rows if query is not None)
            found.append(make_reading(item.id, order, sums, lengths))
        return found

    def _query(self, ids: tuple[int, ...], columns: tuple[int, ...], tokens: tuple[int, ...]) -> Query | None:
        limit = self.model.tokens.max_length
        if limit is not None and len(ids) > limit:
            return None
        return Query(0, ids, columns, tokens, tuple(range(len(columns))))

    def _read(self, queries: Sequence[Query | None], advance: Advance) -> list[NDArray[np.float64] | None]:
        asked = [query for query in queries if query is not None]
        advance(len(queries) - len(asked))
        read = iter(self.probe.read(asked, advance) if asked else ())
        return [None if query is None else next(read) for query in queries]

    def _encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        tokens = self.model.tokens
        if self.chat:
            wrapped = [
                str(tokens.tokenizer.apply_chat_template(
                    [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False
                ))
                for text in texts
            ]  # fmt: skip
            return [encoded.ids for encoded in tokens.encode(wrapped, special=False)]
        start = () if tokens.bos_id is None else (tokens.bos_id,)
        return [start + encoded.ids for encoded in tokens.encode(texts, special=False)]

    def _continuation(self, answer: str) -> tuple[int, ...]:
        """Give the tokens of an answer as they stand behind a prompt: with the space that separates them."""
        return self.model.tokens.encode([self._spaced(answer)], special=False)[0].ids

    def _spaced(self, text: str) -> str:
        return f" {text}" if self.model.tokens.byte_level and not self.chat else text

    def _letter_ids(self) -> tuple[int, ...]:
        """Give the token of each letter. A tokenizer that needs several tokens for a letter is refused."""
        if not self._letters:
            found = [self._continuation(letter) for letter in LETTERS]
            if any(len(ids) != 1 for ids in found) or len({ids[0] for ids in found}) < len(LETTERS):
                raise ModelError(
                    f"{self.model.name}: its tokenizer has no single token for each of the letters {LETTERS[0]} to "
                    f"{LETTERS[-1]}. Use --protocol answers.",
                    code="missing-capability", model=self.model.name, capability="letters",
                )  # fmt: skip
            self._letters = tuple(ids[0] for ids in found)
        return self._letters


def sorted_by_answer(row: Sequence[float] | NDArray[np.float64], order: Sequence[int]) -> list[float]:
    """Sort the letters' values by number of the answer.

    >>> sorted_by_answer([0.1, 0.2, 0.3], (2, 0, 1))
    [0.2, 0.3, 0.1]
    """
    return [float(row[list(order).index(number)]) for number in range(len(order))]


def make_reading(
    item: str, order: tuple[int, ...], values: Sequence[float] | NDArray[np.float64] | None, lengths: tuple[int, ...] = ()
) -> Reading:
    """Make a reading of log-probabilities; one that is missing or not finite is a reason instead."""
    if values is None:
        return Reading(item, order, reason=TOO_LONG)
    if not np.isfinite(values).all():
        return Reading(item, order, reason=NOT_FINITE)
    return Reading(item, order, tuple(map(float, values)), lengths)
