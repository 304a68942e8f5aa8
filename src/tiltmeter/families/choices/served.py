"""Questions to a served model: letters and answer texts by its log-probabilities, or what it writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tiltmeter.benchmarks import Item
from tiltmeter.families.choices.generated_protocol import parsed_reply, sampling_of
from tiltmeter.families.choices.logprob_protocols import Reading, sorted_by_answer
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.families.choices.parse import FILTERED
from tiltmeter.families.choices.prompts import LETTERS, Prompt
from tiltmeter.models import ServedModel
from tiltmeter.models.served import Asker, Missing, Written
from tiltmeter.probes.work import Advance


class ServedReader:
    """Reader of answers of a served model, in one prompt."""

    def __init__(self, model: ServedModel, asker: Asker, prompt: Prompt, options: ChoicesOptions) -> None:
        self.model, self.asker, self.prompt, self.options = model, asker, prompt, options

    @property
    def chat(self) -> bool:
        """Return whether prompts are chat messages: as the user wants, or because the server answers nothing else."""
        return self.options.chat_prompt or self.model.probe.completion is None

    def letters(
        self, items: Sequence[Item], orders: Callable[[Item], Iterable[tuple[int, ...]]], advance: Advance
    ) -> list[Reading]:
        """Read the log-probability of every option letter behind the prompt."""
        asked = [(item, order) for item in items for order in orders(item)]
        prompts = [self.prompt.lettered(item, order) for item, order in asked]
        letters = [[f" {letter}" for letter in LETTERS[: len(order)]] for _, order in asked]
        found = self.asker.choices(prompts, letters, chat=self.chat)
        advance(len(asked))
        return [
            Reading(item.id, order, reason=values.reason)
            if isinstance(values, Missing)
            else Reading(item.id, order, tuple(sorted_by_answer(values, order)))
            for (item, order), values in zip(asked, found, strict=True)
        ]

    def texts(self, items: Sequence[Item], advance: Advance) -> list[Reading]:
        """Read the log-likelihood of every answer text behind the question."""
        answers = [[f" {answer}" for answer in self.prompt.answers(item)] for item in items]
        found = self.asker.continuations([self.prompt.open(item) for item in items], answers)
        advance(len(items))
        readings = []
        for item, values in zip(items, found, strict=True):
            order = tuple(range(len(self.prompt.answers(item))))
            if isinstance(values, Missing):
                readings.append(Reading(item.id, order, reason=values.reason))
            else:
                sums = tuple(math.fsum(row) for row in values)
                readings.append(Reading(item.id, order, sums, tuple(map(len, values))))
        return readings

    def replies(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """Ask for written answers and parse them. A filtered one is an outcome of its own; a failed request is missing."""
        writing = self.model.probe.chat if self.chat else self.model.probe.completion
        assert writing is not None
        sampling = sampling_of(self.options)
        options: Mapping[str, Any] = {"max_tokens": sampling.new_tokens, "temperature": 0.0}
        prompts = [self.prompt.lettered(item, tuple(range(len(item.texts) - 1))) for item in items]
        prefix = self.model.first_token or "" if self.model.probe.is_prefix_ours and not self.chat else ""
        written = self.asker.write([prefix + prompt for prompt in prompts], [options] * len(items), writing)
        return [self._reply(item, answer) for item, answer in zip(items, written, strict=True)]

    def _reply(self, item: Item, answer: Written | Missing) -> dict[str, Any]:
        if isinstance(answer, Missing):
            return {"chosen": None, "reason": answer.reason, "text": None}
        if answer.is_filtered:
            return {"chosen": None, "reason": FILTERED, "text": answer.text.strip() or None}
        return parsed_reply(self.prompt, item, answer.text)
