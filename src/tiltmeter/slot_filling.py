"""`fill_slots`: a model and sentences with one mask to a table of which terms fill it, how likely, and at which rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark, load_benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.models import LanguageModel, load_model, require
from tiltmeter.probes import SlotsProbe
from tiltmeter.probes.likelihood import Advance
from tiltmeter.probes.slots import BLOCK_ITEMS
from tiltmeter.probes.terms import INEXPRESSIBLE
from tiltmeter.provenance import benchmark_facts, cache_root, identity, model_facts
from tiltmeter.slot_tables import PREDICTION_COLUMNS, SLOT_COLUMNS, Slots
from tiltmeter.store import ObservationCache
from tiltmeter.tables import items_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TOP_K = 100
"""As in the paper."""


def fill_slots(
    model: LanguageModel | str | Path,
    benchmark: Benchmark | str | Path,
    *,
    top_k: int = TOP_K,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    advance: Advance | None = None,
) -> Slots:
    """The probability and the rank of every term in every slot; `matched` are those within the top k.

    Finished blocks are kept in the user cache (or the folder given as `cache`), whatever the k.
    """
    model = model if isinstance(model, LanguageModel) else load_model(model)
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    check_slots(model, benchmark, top_k)
    cut = str(BLOCK_ITEMS[model.kind])
    store = ObservationCache(cache_root(cache), identity(model, benchmark, probe="slots", blocks=cut))
    probe = SlotsProbe(model, store, batch_tokens=batch_tokens, advance=advance)
    found = probe.observe(benchmark.slot_items, benchmark.terms)
    frame = _frame(found.slots, model, benchmark, top_k)
    manifest = _manifest(model, benchmark, top_k, probe, store)
    return Slots(frame, items_table(benchmark), (manifest,), _predictions(found.predictions, model, benchmark))


def check_slots(model: LanguageModel, benchmark: Benchmark, top_k: int) -> None:
    """Refuses what cannot be asked, before anything is."""
    if not benchmark.slot_items:
        raise TiltmeterError(f"{benchmark.name} has no sentences with a mask.")
    if len(benchmark.terms) < 2:
        raise TiltmeterError(f"{benchmark.name} has terms of {len(benchmark.terms)} group(s); a lean needs two.")
    require(model, model.kind, "Filling slots")  # a masked model needs a mask, a causal one a beginning
    check_top_k(top_k)
    if model.kind == "masked" and top_k > model.vocabulary:
        raise TiltmeterError(f"--top-k is {top_k:,}, and {model.name} predicts {model.vocabulary:,} tokens.")


def check_top_k(top_k: int) -> None:
    """A rank is normalised between 1 and k."""
    if top_k < 2:
        raise TiltmeterError(f"--top-k is a number from 2 on, not {top_k}.")


def _frame(table: pa.Table, model: LanguageModel, benchmark: Benchmark, top_k: int) -> pd.DataFrame:
    rows = table.to_pandas()
    frame = rows.astype(dict.fromkeys(("item", "group", "term", "among"), object))
    frame["reason"] = rows["note"].astype(object).where(rows["note"].notna(), None)
    frame["probability"] = np.exp(rows["logprob"].to_numpy(dtype=np.float64))
    # A prediction of a masked model is one token; a causal model's candidates are whole words.
    single = (frame["pieces"] == 1) | (frame["among"] == "candidates")
    frame["matched"] = single & (frame["rank"] > 0) & (frame["rank"] <= top_k)
    frame["model"], frame["benchmark"], frame["top_k"] = model.name, benchmark.name, top_k
    items = {item.id: item for item in benchmark.slot_items}
    for column in GROUP_COLUMNS:
        values = {name: getattr(item, column) for name, item in items.items()}
        frame[column] = np.array([values[name] for name in frame["item"]], dtype=object)
    return frame[list(SLOT_COLUMNS)]


def _predictions(table: pa.Table, model: LanguageModel, benchmark: Benchmark) -> pd.DataFrame:
    """The likeliest tokens, and the group that lists them, if one does."""
    rows = table.to_pandas()
    frame = rows.astype({"item": object, "token": object})
    group = {word.lower(): name for name, words in benchmark.terms.items() for word in words}
    frame["group"] = np.array([group.get(token.lower()) for token in frame["token"]], dtype=object)
    frame["probability"] = np.exp(rows["logprob"].to_numpy(dtype=np.float64))
    frame["model"], frame["benchmark"] = model.name, benchmark.name
    return frame[list(PREDICTION_COLUMNS)]


def _manifest(
    model: LanguageModel, benchmark: Benchmark, top_k: int, probe: SlotsProbe, store: ObservationCache
) -> dict[str, Any]:
    notes: Mapping[str, int] = Counter(f"term skipped: {INEXPRESSIBLE} ({word})" for _, word in sorted(probe.refused))
    return {
        "model": model_facts(model),
        "benchmark": benchmark_facts(
            benchmark,
            slot_items=len(benchmark.slot_items),
            terms={group: len(words) for group, words in benchmark.terms.items()},
            notes=benchmark.note_counts() | dict(notes),
        ),
        "top_k": top_k,
        "ranked_among": "vocabulary" if model.kind == "masked" else "candidates",
        "slots": {"key": store.key, "folder": str(store.folder) if store.folder else None},
        **probe.work.counts(),
    }
