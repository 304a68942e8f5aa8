"""Inference on slots: which terms fill a mask, how likely, and at which rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import GROUP_COLUMNS, Item, SlotBenchmark
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pieces import AnswerStream, together
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, family_of
from tiltmeter.families.slots.check import check
from tiltmeter.families.slots.options import Options
from tiltmeter.families.slots.probe import BLOCK_ITEMS, SlotsProbe
from tiltmeter.families.slots.terms import INEXPRESSIBLE
from tiltmeter.models import LanguageModel
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SLOT_COLUMNS = (
    "model", "benchmark", "item", "group", "term", "pieces", "probability", "rank", "matched", "top_k", "among", "reason",
    *GROUP_COLUMNS,
)  # fmt: skip
"""One row per sentence and term. `matched`: a term of one token within the top k, as in the paper. `pieces` above 1:
exp(mean log-probability) over that many masks, ranked among the predictions for one mask. `among`: the vocabulary, or
for causal models the candidates. `rank` 0 and a reason: not measured."""
PREDICTION_COLUMNS = ("model", "benchmark", "item", "rank", "token", "probability", "group")
"""The ten likeliest tokens of a masked model, listed or not; `group` is the one that lists the token, if any."""


def ask(model: LanguageModel, benchmark: SlotBenchmark, options: Options, context: AskContext) -> Answers:
    """The probability and the rank of every term in every slot; `matched` are those within the top k.

    Finished blocks are kept in the cache and serve any k.
    """
    return together(stream(model, benchmark, options, context), benchmark)


def stream(model: LanguageModel, benchmark: SlotBenchmark, options: Options, context: AskContext) -> AnswerStream:
    """Rank terms for a block of sentences at a time."""
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    return _Asking(model, benchmark, options.top_k, context)


class _Asking:
    """Ranking of the terms of one benchmark by one model."""

    def __init__(self, model: LanguageModel, benchmark: SlotBenchmark, top_k: int, context: AskContext) -> None:
        self.model, self.benchmark, self.top_k, self.context = model, benchmark, top_k, context
        cut = str(BLOCK_ITEMS[model.kind])
        key = identity(model, data=benchmark.data_hash, probe="slots", blocks=cut, version=str(family_of(benchmark).VERSION))
        self.store = ObservationCache(observations_folder(context.cache), key)
        self.probe = SlotsProbe(model, self.store, batch_tokens=context.batch_tokens, share=context.share)

    def tables(self) -> Iterator[dict[str, pd.DataFrame]]:
        """The terms and the likeliest predictions of each block."""
        with self.context.watched(f"{self.model.name} × {self.benchmark.name}", self.benchmark.size) as self.probe.advance:
            for items, observed in self.probe.observe(self.benchmark.asked_items, self.benchmark.terms):
                yield {
                    "slots": _slots(observed.slots, self.model, self.benchmark, items, self.top_k),
                    "predictions": _predictions(observed.predictions, self.model, self.benchmark),
                }

    def about(self) -> tuple[dict[str, Any], dict[str, Path]]:
        """Return the facts of the question, and which terms the tokenizer lacks."""
        refused = sorted(self.probe.refused)
        notes: Mapping[str, int] = Counter(f"term skipped: {INEXPRESSIBLE} ({word})" for _, word in refused)
        manifest = {
            "family": self.benchmark.family,
            "model": model_facts(self.model),
            "benchmark": benchmark_facts(
                self.benchmark,
                terms={group: len(words) for group, words in self.benchmark.terms.items()},
                notes=self.benchmark.note_counts() | dict(notes),
            ),
            "top_k": self.top_k,
            "ranked_among": "vocabulary" if self.model.kind == "masked" else "candidates",
            "observations": {"key": self.store.key},
            **self.probe.work.counts(),
        }
        return manifest, {}


def blocks(model: LanguageModel, benchmark: SlotBenchmark, options: Options) -> int:
    """Number of blocks in which sentences are ranked."""
    return -(-len(benchmark.asked_items) // BLOCK_ITEMS[model.kind])


def _slots(
    table: pa.Table, model: LanguageModel, benchmark: SlotBenchmark, items: Sequence[Item], top_k: int
) -> pd.DataFrame:
    rows = table.to_pandas()
    frame = rows.astype(dict.fromkeys(("item", "group", "term", "among"), object))
    frame["reason"] = rows["reason"].astype(object).where(rows["reason"].notna(), None)
    frame["probability"] = np.exp(rows["logprob"].to_numpy(dtype=np.float64))
    # A prediction of a masked model is one token; a causal model's candidates are whole words.
    single = (frame["pieces"] == 1) | (frame["among"] == "candidates")
    frame["matched"] = single & (frame["rank"] > 0) & (frame["rank"] <= top_k)
    frame["model"], frame["benchmark"], frame["top_k"] = model.name, benchmark.name, top_k
    for column in GROUP_COLUMNS:
        values = {item.id: getattr(item, column) for item in items}
        frame[column] = np.array([values[name] for name in frame["item"]], dtype=object)
    return frame[list(SLOT_COLUMNS)]


def _predictions(table: pa.Table, model: LanguageModel, benchmark: SlotBenchmark) -> pd.DataFrame:
    """The likeliest tokens, and the group that lists each of them, if any."""
    rows = table.to_pandas()
    frame = rows.astype({"item": object, "token": object})
    group = {word.lower(): name for name, words in benchmark.terms.items() for word in words}
    frame["group"] = np.array([group.get(token.lower()) for token in frame["token"]], dtype=object)
    frame["probability"] = np.exp(rows["logprob"].to_numpy(dtype=np.float64))
    frame["model"], frame["benchmark"] = model.name, benchmark.name
    return frame[list(PREDICTION_COLUMNS)]
