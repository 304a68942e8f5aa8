"""`score`: a model, a benchmark and some scorers to a table of sentence scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark, Item, load_benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.models import LanguageModel, load_model, require
from tiltmeter.probes import ALIGNMENTS, VIEWS, Block, LikelihoodProbe, likelihood
from tiltmeter.probes.likelihood import Advance
from tiltmeter.provenance import benchmark_facts, cache_root, identity, model_facts
from tiltmeter.scorers import tokens_of
from tiltmeter.store import ObservationCache
from tiltmeter.tables import SCORE_COLUMNS, Scores, items_table

STUDIED = {"masked": ("shuffled-0",), "causal": ()}
"""Views that no scorer reads. A run by all scorers keeps them too, so that no study has to ask its models again."""


def applicable_scorers(model: LanguageModel, benchmark: Benchmark) -> list[str]:
    """The scorers that this kind of model and this benchmark allow."""
    views = {entry.name: VIEWS[entry.constant("VIEW")] for entry in catalog.entries("scorers")}
    return [
        name for name, view in views.items() if view.kind == model.kind and (benchmark.has_context or not view.needs_context)
    ]


def score(
    model: LanguageModel | str | Path,
    benchmark: Benchmark | str | Path,
    scorers: Sequence[str] | None = None,
    *,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    alignment: str = "auto",
    advance: Advance | None = None,
) -> Scores:
    """Scores every sentence of a benchmark by the scorers named, or by all that apply.

    One shared model pass serves all of them. Observations are kept in the user cache (or the folder given as `cache`),
    so that a second call, another scorer of the same view, or a run after an interruption computes only what is missing.
    """
    model = model if isinstance(model, LanguageModel) else load_model(model)
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    check_alignment(alignment)
    chosen = choose_scorers(model, benchmark, scorers)
    views = _views(chosen, model)
    store = _store(model, benchmark, cache, alignment)
    more = STUDIED[model.kind] if store.folder and not scorers else ()  # without a cache there is nowhere to keep them
    asked = sorted({*views.values(), *more})
    probe = LikelihoodProbe(model, store, batch_tokens=batch_tokens, alignment=alignment, advance=advance)
    blocks = probe.observe(benchmark.scored_items, asked)
    frames = [_score_block(next(blocks), chosen, views)]
    items = items_table(benchmark)  # here, because a GPU is at work on the next block by now
    frames += [_score_block(block, chosen, views) for block in blocks]
    return Scores.from_frames(
        frames,
        model=model.name,
        benchmark=benchmark.name,
        items=items,
        manifest=_manifest(model, benchmark, chosen, asked, probe, store, alignment),
    )


def observe(
    model: LanguageModel,
    benchmark: Benchmark,
    view: str,
    *,
    cache: bool | str | Path = True,
    alignment: str = "auto",
    advance: Advance | None = None,
) -> pa.Table:
    """The token observations of one more view, from the cache where a run or an earlier call has left them."""
    store = _store(model, benchmark, cache, alignment)
    blocks = LikelihoodProbe(model, store, alignment=alignment, advance=advance).observe(benchmark.scored_items, [view])
    return pa.concat_tables(block.tables[view] for block in blocks)


def check_alignment(alignment: str) -> None:
    """Refuses an alignment that does not exist."""
    if alignment not in ALIGNMENTS:
        raise TiltmeterError(f"The alignment is {' or '.join(ALIGNMENTS)}, not '{alignment}'.")


def choose_scorers(model: LanguageModel, benchmark: Benchmark, names: Sequence[str] | str | None) -> list[Entry]:
    """The scorers asked for, or all that apply; refuses those that do not."""
    if not benchmark.scored_items:
        raise TiltmeterError(f"{benchmark.name} has no items that can be scored.")
    if isinstance(names, str):
        names = [names]
    if not names:
        names = applicable_scorers(model, benchmark)
    chosen = [catalog.find("scorers", name) for name in dict.fromkeys(names)]
    for entry in chosen:
        view = VIEWS[entry.constant("VIEW")]
        require(model, view.kind, entry.name)
        if view.needs_context and not benchmark.has_context:
            raise TiltmeterError(
                f"{entry.name} fills the BLANK of a context, and {benchmark.name} has none. Use it with stereoset, "
                "or give your pairs a context column."
            )
    return chosen


def _views(chosen: Sequence[Entry], model: LanguageModel) -> dict[str, str]:
    """Scorer to view. Where AULA is asked for, AUL reads the same pass.

    Not in half precision: the kernels that give attention round so differently there that preferences flip.
    """
    views = {entry.name: str(entry.constant("VIEW")) for entry in chosen}
    if "unmasked_attention" in views.values() and model.precision in ("fp32", "tf32"):
        views = {name: "unmasked_attention" if view == "unmasked" else view for name, view in views.items()}
    return views


def _store(model: LanguageModel, benchmark: Benchmark, cache: bool | str | Path, alignment: str) -> ObservationCache:
    """What is known of this model's tokens on this benchmark; the view is a part of it."""
    cut = f"{likelihood.BLOCK_ITEMS} {likelihood.BLOCK_TOKENS}"
    return ObservationCache(cache_root(cache), identity(model, benchmark, alignment=alignment, blocks=cut))


def _score_block(block: Block, chosen: Sequence[Entry], views: dict[str, str]) -> dict[str, Any]:
    """Columns of the scores table for one block of items."""
    sentences = [(item, role) for item in block.items for role in item.texts]
    keys = [(item.id, role) for item, role in sentences]
    tokens = {view: tokens_of(block.tables[view], keys) for view in set(views.values())}
    scored = [entry.function(tokens[views[entry.name]]) for entry in chosen]
    n = len(chosen)
    columns: dict[str, Any] = {
        "item": [item for item, _ in keys] * n,
        "role": [role for _, role in keys] * n,
        "scorer": [entry.name for entry in chosen for _ in keys],
        "score": np.concatenate([one.value for one in scored]),
        "n_tokens": np.concatenate([one.n_tokens for one in scored]),
        "reason": np.concatenate([one.reason for one in scored]),
    }
    for column in GROUP_COLUMNS:
        columns[column] = [_group(item, column) for item, _ in sentences] * n
    assert set(columns) | {"model", "benchmark"} == set(SCORE_COLUMNS)
    return columns


def _group(item: Item, column: str) -> str | None:
    value = getattr(item, column)
    return None if value is None else str(value)


def _manifest(
    model: LanguageModel,
    benchmark: Benchmark,
    chosen: Sequence[Entry],
    asked: Sequence[str],
    probe: LikelihoodProbe,
    store: ObservationCache,
    alignment: str,
) -> dict[str, Any]:
    return {
        "model": model_facts(model),
        "benchmark": benchmark_facts(benchmark, scored_items=len(benchmark.scored_items)),
        "scorers": [entry.name for entry in chosen],
        "views": list(asked),
        "alignment": alignment,
        "observations": {"key": store.key, "folder": str(store.folder) if store.folder else None},
        **probe.work.counts(),
    }
