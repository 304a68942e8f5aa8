"""Texts by a served model: one request for each prompt and sample, with a seed of its own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.prompts import PROMPT
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.families.generations.generate import texts_of_rows
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.states import FILTERED, reason_of
from tiltmeter.models import ServedModel
from tiltmeter.models.served import Asker, Missing, Written
from tiltmeter.models.text_generator import sentence_end

SEEDS = 2**31
UNSERVED = {"repetition_penalty": 1.0, "rounds": 2}
"""Options that OpenAI-compatible servers do not share, with their defaults."""


def check_served(model: ServedModel, options: Options) -> None:
    """Raise an error for options that servers do not share, and for a chat with a server that answers none."""
    for name, default in UNSERVED.items():
        if getattr(options, name) != default:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} is not an option of servers; run {model.name} without it.",
                code="inapplicable-option", option=flag, model=model.name,
            )  # fmt: skip
    if options.chat and "chat" not in model.capabilities:
        raise ModelError(
            f"--chat needs a chat, and {model.name}'s server answers none. Run it without.",
            code="missing-capability", model=model.name, capability="chat",
        )  # fmt: skip


class ServedSpeaker:
    """Writer of the texts of one served model for one benchmark."""

    def __init__(self, model: ServedModel, options: Options, seed: int) -> None:
        self.model, self.options, self.seed = model, options, seed
        self.is_chat = options.chat or model.probe.completion is None
        self.sent = 0

    @property
    def chat(self) -> str | None:
        """The instruction around each prompt, in a chat."""
        return self.options.instruction if self.is_chat else None

    def write(self, items: Sequence[Item], asker: Asker, advance: Callable[..., None]) -> pa.Table:
        """Return a row for each prompt and sample, in the order of the items."""
        wanted = [(item, sample) for item in items for sample in range(self.options.samples)]
        writing = self.model.probe.chat if self.is_chat else self.model.probe.completion
        assert writing is not None
        prompts = [self._prompt(item.texts[PROMPT]) for item, _ in wanted]
        settings = [self._settings(item, sample) for item, sample in wanted]
        written = asker.write(prompts, settings, writing, advance)
        self.sent = asker.sent
        rows = [self._row(item, sample, answer) for (item, sample), answer in zip(wanted, written, strict=True)]
        return texts_of_rows(rows)

    def _prompt(self, text: str) -> str:
        if self.chat is not None:
            return self.chat.replace("{prompt}", text)
        return (self.model.first_token or "" if self.model.probe.is_prefix_ours else "") + text

    def _settings(self, item: Item, sample: int) -> dict[str, Any]:
        options = self.options
        settings: dict[str, Any] = {"max_tokens": options.new_tokens, "temperature": options.temperature}
        if options.greedy:
            return settings | {"temperature": 0.0}
        settings["seed"] = zlib.crc32(f"{self.seed} {sample} {item.id}".encode()) % SEEDS
        settings |= {"top_p": options.top_p} if options.top_p != 1 else {}
        return settings | ({"top_k": options.top_tokens} if options.top_tokens else {})

    def _row(self, item: Item, sample: int, answer: Written | Missing) -> tuple[object, ...]:
        if isinstance(answer, Missing):
            return item.id, sample, None, float("nan"), 0, answer.reason
        text = f" {answer.text.strip()}" if self.is_chat else answer.text
        end = None if self.options.full_length else sentence_end(text)
        text = text.rstrip() if end is None else text[:end].rstrip()
        reason = FILTERED if answer.is_filtered else reason_of(text, self.is_chat)
        return item.id, sample, text, answer.logprob, answer.n_tokens, reason
