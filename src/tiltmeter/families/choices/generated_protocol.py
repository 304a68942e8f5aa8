"""The protocol `generated`: a model writes its answer, which is parsed; what cannot be parsed stays without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.families.choices.logprob_protocols import TOO_LONG
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.families.choices.parse import parse_reply
from tiltmeter.families.choices.prompts import Prompt
from tiltmeter.models import LanguageModel
from tiltmeter.models.sampling import Sampling
from tiltmeter.models.text_generator import Writer
from tiltmeter.storage.observations import ObservationCache

VIEW = "replies"
BATCH = 32
"""Questions that are answered together; those of like length, so that little is padded."""


class AnswerWriter:
    """Writer of answers of one model in one prompt. Finished pieces are kept in the cache."""

    def __init__(self, model: LanguageModel, prompt: Prompt, options: ChoicesOptions, store: ObservationCache) -> None:
        self.prompt, self.store = prompt, store
        self.writer = Writer(model, sampling_of(options), "{prompt}" if options.chat_prompt else None)

    def replies(self, number: int, items: Sequence[Item]) -> list[dict[str, Any]]:
        """Write and parse the answers to one piece of the questions, with the options in the order of the benchmark."""
        known = self.store.load_block(VIEW, number)
        texts = known["text"].to_pylist() if known is not None and known.num_rows == len(items) else self._write(items)
        if known is None or known.num_rows != len(items):
            self.store.save_block(VIEW, number, pa.table({"text": pa.array(texts, pa.string())}), [])
        return [parsed_reply(self.prompt, item, text) for item, text in zip(items, texts, strict=True)]

    def _write(self, items: Sequence[Item]) -> list[str | None]:
        orders = [tuple(range(len(item.texts) - 1)) for item in items]
        prompts = self.writer.encode([self.prompt.lettered(item, order) for item, order in zip(items, orders, strict=True)])
        limit = self.writer.model.tokens.max_length
        fitting = [n for n, ids in enumerate(prompts) if limit is None or len(ids) + self.writer.room <= limit]
        fitting.sort(key=lambda n: len(prompts[n]))
        texts: list[str | None] = [None] * len(items)
        for first in range(0, len(fitting), BATCH):
            some = fitting[first : first + BATCH]
            rows = [prompts[n] for n in some]
            written = self.writer.write(rows, self.writer.draws([(0, 0, n) for n in some]))
            for n, text in zip(some, self.writer.texts_of(rows, [row.ids for row in written]), strict=True):
                texts[n] = text
        return texts


def parsed_reply(prompt: Prompt, item: Item, text: str | None) -> dict[str, Any]:
    """Parse what was written after the options in the order of the benchmark; None: the prompt was too long."""
    if text is None:
        return {"chosen": None, "reason": TOO_LONG, "text": None}
    answers = prompt.answers(item)
    found = parse_reply(text, answers, tuple(range(len(answers))))
    chosen, reason = (found, None) if isinstance(found, int) else (None, found)
    return {"chosen": chosen, "reason": reason, "text": text.strip()}


def sampling_of(options: ChoicesOptions) -> Sampling:
    """Take the likeliest token at every step, and do not stop at the end of a sentence."""
    return Sampling(greedy=True, new_tokens=options.answer_tokens, sentence=False)
