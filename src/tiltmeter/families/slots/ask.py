"""Asking about slots: which terms fill a mask, how likely, and at which rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.benchmarks import GROUP_COLUMNS, SlotBenchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.seam import How, Known
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


def ask(model: LanguageModel, benchmark: SlotBenchmark, options: Options, how: How) -> Answers:
    """The probability and the rank of every term in every slot; `matched` are those within the top k.

    Finished blocks are kept in the cache and serve any k.
    """
    check(benchmark, [Known(model.name, model.kind, model)], options)
    cut = str(BLOCK_ITEMS[model.kind])
    key = identity(model, data=benchmark.data_hash, probe="slots", blocks=cut)
    store = ObservationCache(observations_folder(how.cache), key)
    with how.watched(f"{model.name} × {benchmark.name}", benchmark.size) as advance:
        probe = SlotsProbe(model, store, batch_tokens=how.batch_tokens, advance=advance, share=how.share)
        observed = probe.observe(benchmark.asked_items, benchmark.terms)
    notes: Mapping[str, int] = Counter(f"term skipped: {INEXPRESSIBLE} ({word})" for _, word in sorted(probe.refused))
    manifest = {
        "family": benchmark.family,
        "model": model_facts(model),
        "benchmark": benchmark_facts(
            benchmark,
            terms={group: len(words) for group, words in benchmark.terms.items()},
            notes=benchmark.note_counts() | dict(notes),
        ),
        "top_k": options.top_k,
        "ranked_among": "vocabulary" if model.kind == "masked" else "candidates",
        "observations": {"key": store.key},
        **probe.work.counts(),
    }
    tables = {
        "slots": _slots(observed.slots, model, benchmark, options.top_k),
        "predictions": _predictions(observed.predictions, model, benchmark),
    }
    return Answers(benchmark.family, tables, items_table(benchmark), (manifest,))


def blocks(model: LanguageModel, benchmark: SlotBenchmark, options: Options) -> int:
    """In how many blocks a model is asked."""
    return -(-len(benchmark.asked_items) // BLOCK_ITEMS[model.kind])


def _slots(table: pa.Table, model: LanguageModel, benchmark: SlotBenchmark, top_k: int) -> pd.DataFrame:
    rows = table.to_pandas()
    frame = rows.astype(dict.fromkeys(("item", "group", "term", "among"), object))
    frame["reason"] = rows["reason"].astype(object).where(rows["reason"].notna(), None)
    frame["probability"] = np.exp(rows["logprob"].to_numpy(dtype=np.float64))
    # A prediction of a masked model is one token; a causal model's candidates are whole words.
    single = (frame["pieces"] == 1) | (frame["among"] == "candidates")
    frame["matched"] = single & (frame["rank"] > 0) & (frame["rank"] <= top_k)
    frame["model"], frame["benchmark"], frame["top_k"] = model.name, benchmark.name, top_k
    items = {item.id: item for item in benchmark.asked_items}
    for column in GROUP_COLUMNS:
        values = {name: getattr(item, column) for name, item in items.items()}
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
