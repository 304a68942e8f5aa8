"""Inference on questions with choices: a model's answers, and how likely each one is in each order of the options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark
from tiltmeter.benchmarks.kit.decisions import DECISION, FAVOURABLE
from tiltmeter.families.choices.check import check, protocols_of, served_protocols
from tiltmeter.families.choices.generated_protocol import AnswerWriter, sampling_of
from tiltmeter.families.choices.head_protocol import HeadReader
from tiltmeter.families.choices.logprob_protocols import Reader, Reading
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.families.choices.prompts import Prompt, find_prompt, orders_of
from tiltmeter.families.choices.served import ServedReader
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pieces import AnswerStream, together
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, family_of
from tiltmeter.models import ChoiceHead, LanguageModel, ServedModel
from tiltmeter.probes.templates import TemplateProbe
from tiltmeter.probes.work import Work
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import cache_folder, observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts

if TYPE_CHECKING:
    import pandas as pd

Asked = LanguageModel | ServedModel | ChoiceHead
FACTS = ("right", "unknown", "stereotyped", "condition", "polarity", "template", "label_type")
CHOICE_COLUMNS = (
    "model", "benchmark", "scorer", "item", "prompt", "chosen", "text", "reason", "n_orders", "changed", "score", *FACTS,
    "bias_type", "direction", "target",
)  # fmt: skip
"""One row per question and scorer. `chosen`: number of the answer, or missing with a `reason`. `changed`: 1 if the answer
depends on the order of the options, missing for a single order. `score`: for a decision, the log-odds of the favourable
answer against all others, as a mean over the orders. `text`: what was written, for `generated`."""
OPTION_COLUMNS = ("model", "benchmark", "scorer", "item", "order", "answer", "logprob", "n_tokens")
"""One row per answer and order, such as 021: the third answer stood second."""
TIE = "two answers are equally likely"
CACHE = "choice_logprobs"
"""The folder in a cache with log-probabilities of answers."""
PIECE = 128
"""Questions that are answered before their rows are yielded."""


def ask(model: Asked, benchmark: ChoiceBenchmark, options: ChoicesOptions, context: AskContext) -> Answers:
    """Query every question by every protocol that the model can answer."""
    return together(stream(model, benchmark, options, context), benchmark)


def stream(model: Asked, benchmark: ChoiceBenchmark, options: ChoicesOptions, context: AskContext) -> AnswerStream:
    """Query a few questions at a time."""
    check(benchmark, [ModelInfo(model.name, model.kind, model, context.kinds)], options)
    kind = _AskingServed if isinstance(model, ServedModel) else _Asking
    return kind(model, benchmark, options, context)


class _Asking:
    """One model that answers one benchmark."""

    def __init__(self, model: Asked, benchmark: ChoiceBenchmark, options: ChoicesOptions, context: AskContext) -> None:
        self.model, self.benchmark, self.options, self.context = model, benchmark, options, context
        self.prompt = find_prompt(options.prompt, benchmark.language, question_only=options.question_only)
        self.protocols, self.work = protocols_of(model.kind, options), Work()
        self.reader: Reader | ServedReader | HeadReader
        if isinstance(model, ChoiceHead):
            self.reader = HeadReader(model, self.prompt, context.batch_tokens)
        if isinstance(model, LanguageModel):
            root = cache_folder(context.cache)
            version = family_of(benchmark).VERSION
            place, tokens = root and root / CACHE, context.batch_tokens
            probe = TemplateProbe(model, place, batch_tokens=tokens, version=version)
            self.reader, self.work = Reader(model, probe, self.prompt, chat=options.chat_prompt), probe.work

    def tables(self) -> Iterator[dict[str, pd.DataFrame]]:
        """Yield the answers to some questions, and how likely each answer was."""
        items = iter(self.benchmark.asked_items)
        total = self.benchmark.size * len(self.protocols)
        with self.context.watched(f"{self.model.name} × {self.benchmark.name}", total) as advance:
            number = 0
            while some := list(islice(items, PIECE)):
                parts = [self._ask_items(protocol, number, some) for protocol in self.protocols]
                number += 1
                advance(len(some) * len(parts))
                yield {"choices": answer_frame(CHOICE_COLUMNS, [row for rows, _ in parts for row in rows]),
                       "options": answer_frame(OPTION_COLUMNS, [row for _, rows in parts for row in rows])}  # fmt: skip

    def _ask_items(
        self, protocol: str, number: int, items: Sequence[Item]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        if protocol == "generated":
            replies = self._replies(number, items)
            return [self._row(protocol, item, **reply) for item, reply in zip(items, replies, strict=True)], []
        readings = self._read(protocol, items)
        by_item = {name: list(some) for name, some in groupby(readings, key=lambda reading: reading.item)}
        rows = [
            self._row(protocol, item, **decide(protocol, by_item[item.id], scored=item.extra["condition"] == DECISION))
            for item in items
        ]
        return rows, [row for reading in readings for row in self._options(protocol, reading)]

    def _replies(self, number: int, items: Sequence[Item]) -> list[dict[str, Any]]:
        return self.writer.replies(number, items)

    @cached_property
    def writer(self) -> AnswerWriter:
        """The writer of answers, for `generated`."""
        assert isinstance(self.model, LanguageModel)
        key = identity(
            self.model, data=self.benchmark.data_hash, probe="choices", prompt=f"{self.prompt.sha256} {self.prompt.title}",
            sampling=repr(sampling_of(self.options)), chat=str(self.options.chat_prompt), piece=str(PIECE),
            version=str(family_of(self.benchmark).VERSION),
        )  # fmt: skip
        store = ObservationCache(observations_folder(self.context.cache), key)
        return AnswerWriter(self.model, self.prompt, self.options, store)

    def _read(self, protocol: str, items: Sequence[Item]) -> list[Reading]:
        def ignore(_: float) -> None:
            """Progress is counted in questions."""

        if isinstance(self.reader, HeadReader):
            return self.reader.read(items)
        if protocol == "letters":
            return self.reader.letters(items, lambda item: orders_of(len(item.texts) - 1, self.options.orders), ignore)
        if protocol.startswith("masked") and isinstance(self.reader, Reader):
            return self.reader.cloze(items, ignore)
        return self.reader.texts(items, ignore)

    def _row(self, protocol: str, item: Item, **answer: Any) -> dict[str, Any]:
        return {
            "model": self.model.name, "benchmark": self.benchmark.name, "scorer": self._scorer(protocol),
            "item": item.id, "prompt": self.prompt.title, "text": None, "n_orders": 1, "changed": None, "score": None,
            **{name: item.extra.get(name) for name in FACTS}, "bias_type": item.bias_type, "direction": item.direction,
            "target": item.target, **answer,
        }  # fmt: skip

    def _scorer(self, protocol: str) -> str:
        return scorer_name(protocol, self.prompt, self.options)

    def _options(self, protocol: str, reading: Reading) -> Iterator[dict[str, Any]]:
        order = "".join(map(str, reading.order))
        names = {"model": self.model.name, "benchmark": self.benchmark.name, "scorer": self._scorer(protocol)}
        for number, logprob in enumerate(reading.logprobs):
            length = reading.lengths[number] if reading.lengths else 1
            yield {**names, "item": reading.item, "order": order, "answer": number, "logprob": logprob, "n_tokens": length}

    def about(self) -> tuple[dict[str, Any], Mapping[str, Path]]:
        """Describe the model, the benchmark and the options."""
        manifest = {
            "family": self.benchmark.family,
            "model": model_facts(self.model),
            "benchmark": benchmark_facts(self.benchmark),
            "protocols": list(self.protocols),
            "prompt": {"name": self.prompt.title, "sha256": self.prompt.sha256, "chat": self.options.chat_prompt},
            "orders": self.options.orders,
            **self.work.counts(),
        }
        return manifest, {}


class _AskingServed(_Asking):
    """One served model that answers one benchmark. Its journal is open meanwhile."""

    def tables(self) -> Iterator[dict[str, pd.DataFrame]]:
        """Yield the answers to some questions, and how likely each answer was."""
        assert isinstance(self.model, ServedModel)
        self.protocols = served_protocols(self.model, self.options)
        with self.model.asking(self.context.cache) as asker:
            self.reader = ServedReader(self.model, asker, self.prompt, self.options)
            yield from super().tables()
            self.work.sequences = asker.sent

    def _replies(self, number: int, items: Sequence[Item]) -> list[dict[str, Any]]:
        assert isinstance(self.reader, ServedReader)
        return self.reader.replies(items)


def scorer_name(protocol: str, prompt: Prompt, options: ChoicesOptions = ChoicesOptions()) -> str:  # noqa: B008
    """Name a protocol with everything that differs from its default: numbers of different formats are never mixed.

    >>> scorer_name("letters", find_prompt(None, "en")), scorer_name("letters", find_prompt("instructed", "en"))
    ('letters', 'letters@instructed')
    >>> scorer_name("letters", find_prompt("instructed", "en"), ChoicesOptions(orders="given", chat_prompt=True))
    'letters+given_order+chat@instructed'
    """
    parts = {
        "given_order": protocol == "letters" and options.orders == "given",
        "chat": options.chat_prompt,
        "question_only": prompt.question_only,
    }
    plain = prompt.name == "plain" or prompt.name.startswith("plain-")
    return protocol + "".join(f"+{part}" for part, holds in parts.items() if holds) + ("" if plain else f"@{prompt.name}")


def decide(protocol: str, readings: Sequence[Reading], *, scored: bool = False) -> dict[str, Any]:
    """Choose the answer with the highest mean log-probability over all orders; see whether each order agrees."""
    if bad := next((reading.reason for reading in readings if reading.reason), None):
        return {"chosen": None, "reason": bad, "n_orders": len(readings)}
    values = np.array([_values(protocol, reading) for reading in readings])
    mean = values.mean(axis=0)
    best = np.flatnonzero(mean >= mean.max() - 1e-12)
    changed = float(len({int(row.argmax()) for row in values}) > 1) if len(readings) > 1 else None
    chosen, reason = (int(best[0]), None) if len(best) == 1 else (None, TIE)
    found = {"chosen": chosen, "reason": reason, "n_orders": len(readings), "changed": changed}
    return found | {"score": _log_odds(values)} if scored else found


def _log_odds(values: NDArray[np.float64]) -> float:
    """Give the log-odds of the favourable answer against all others, as a mean over the orders (rows)."""
    others = np.logaddexp.reduce(np.delete(values, FAVOURABLE, axis=1), axis=1)
    return float((values[:, FAVOURABLE] - others).mean())


def _values(protocol: str, reading: Reading) -> list[float]:
    if protocol.endswith("_mean"):
        return [value / length for value, length in zip(reading.logprobs, reading.lengths, strict=True)]
    return list(reading.logprobs)


def answer_frame(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of answers; numbers that may be missing are floats."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(columns))
    for name in ("chosen", "changed", "stereotyped", "score"):
        if name in frame:
            frame[name] = frame[name].astype(float)
    return frame
