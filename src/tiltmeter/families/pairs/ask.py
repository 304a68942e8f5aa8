"""Inference on pairs: a table of sentence scores for a model, a benchmark and some scorers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark, Item
from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pieces import AnswerStream, together
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, family_of
from tiltmeter.families.pairs.check import ALL, check, check_alignment, choose_scorers, scorers_for
from tiltmeter.families.pairs.options import Options
from tiltmeter.models import LanguageModel, ServedModel
from tiltmeter.probes import Block, LikelihoodProbe, ServedProbe, likelihood
from tiltmeter.probes.work import Advance
from tiltmeter.scorers import tokens_of
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts, usable_cache

if TYPE_CHECKING:
    import pandas as pd

Asked = LanguageModel | ServedModel
SCORE_COLUMNS = ("model", "benchmark", "item", "role", "scorer", "score", "n_tokens", "reason", *GROUP_COLUMNS)
"""One row per sentence and scorer. Where `score` is NaN, `reason` says why."""
STUDIED = {"masked": ("shuffled_all-0",), "causal": ()}
"""Views that no scorer reads. A run by all scorers stores them too, so that no study has to ask the models again."""


def ask(model: Asked, benchmark: Benchmark, options: Options, context: AskContext) -> Answers:
    """Scores every sentence of a benchmark by the scorers named, or by those with evidence.

    One shared model pass serves all of them. Observations are kept in the cache, so that a second call, another scorer of
    the same view, or a run after an interruption computes only what is missing.
    """
    return together(stream(model, benchmark, options, context), benchmark)


def stream(model: Asked, benchmark: Benchmark, options: Options, context: AskContext) -> AnswerStream:
    """Score a block of items at a time."""
    names = scorers_for(model.kind, options.scorers, model.name, {*context.kinds, model.kind})
    check(benchmark, [ModelInfo(model.name, model.kind, model)], replace(options, scorers=names))
    return _Asking(model, benchmark, options, context, choose_scorers(model, benchmark, names))


class _Asking:
    """Scoring of one benchmark by one model."""

    def __init__(
        self, model: Asked, benchmark: Benchmark, options: Options, context: AskContext, chosen: Sequence[Entry]
    ) -> None:
        self.model, self.benchmark, self.chosen, self.context = model, benchmark, chosen, context
        self.views = _views(chosen, model)
        self.store = _store(model, benchmark, context.cache, options.alignment)
        by_all = (not options.scorers or ALL in options.scorers) and not benchmark.scorers
        more = STUDIED[model.kind] if self.store.folder and by_all else ()  # without a cache nothing can keep them
        self.all_views = sorted({*self.views.values(), *more})
        self.probe = self._probe(options)

    def _probe(self, options: Options) -> LikelihoodProbe | ServedProbe:
        share, context = self.context.share, self.context
        if isinstance(self.model, ServedModel):
            return ServedProbe(self.model, self.store, context.cache, alignment=options.alignment, share=share)
        return LikelihoodProbe(
            self.model, self.store, batch_tokens=context.batch_tokens, alignment=options.alignment, share=share
        )

    def tables(self) -> Iterator[dict[str, pd.DataFrame]]:
        """The scores of each block."""
        names = (self.model.name, self.benchmark.name)
        with self.context.watched(" × ".join(names), self.benchmark.size) as self.probe.advance:
            for block in self.probe.observe(self.benchmark.asked_items, self.all_views):
                yield {"scores": scores_table(_score_block(block, self.chosen, self.views), *names)}

    def about(self) -> tuple[dict[str, Any], dict[str, Path]]:
        """Return the facts of the question, and the files with every token that was read."""
        attachments = _attachments(self.model, self.benchmark, self.store, self.all_views)
        items, readable = self.benchmark.asked_items, self.probe.readable
        manifest = {
            "family": self.benchmark.family,
            "model": model_facts(self.model),
            "benchmark": benchmark_facts(self.benchmark, scored_items=len(items)),
            "scorers": [entry.name for entry in self.chosen],
            "views": list(self.all_views),
            "alignment": self.probe.alignment,
            "observations": {"key": self.store.key},
            "attachments": list(attachments),
            **self.probe.work.counts(),
        }
        if readable.total["texts"] == sum(len(item.texts) for item in items):  # none was found stored
            manifest["reading"] = readable.facts()
        return manifest, attachments


def blocks(model: Asked, benchmark: Benchmark, options: Options) -> int:
    """Number of blocks in which items are scored."""
    return sum(1 for _ in likelihood.blocks(benchmark.asked_items))


def observe(
    model: LanguageModel,
    benchmark: Benchmark,
    view: str,
    *,
    cache: bool | str | Path = True,
    alignment: str = "auto",
    advance: Advance | None = None,
) -> pa.Table:
    """The token observations of one more view, from the cache if a run or an earlier call stored them."""
    check_alignment(alignment)
    store = _store(model, benchmark, usable_cache(model, cache), alignment)
    observed = LikelihoodProbe(model, store, alignment=alignment, advance=advance).observe(benchmark.asked_items, [view])
    return pa.concat_tables(block.tables[view] for block in observed)


def scores_table(columns: dict[str, Any], model: str, benchmark: str) -> pd.DataFrame:
    """The columns of scores.parquet, of one model and benchmark."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    frame.insert(0, "model", model)
    frame.insert(1, "benchmark", benchmark)
    return frame[list(SCORE_COLUMNS)]


def _views(chosen: Sequence[Entry], model: Asked) -> dict[str, str]:
    """Scorer to view. Where AULA is requested, AUL reads the same pass.

    Not in half precision: the kernels that return attention round so differently there that preferences change.
    """
    views = {entry.name: entry.scorer.view for entry in chosen}
    if "unmasked_attention" in views.values() and isinstance(model, LanguageModel) and model.precision in ("fp32", "tf32"):
        views = {name: "unmasked_attention" if view == "unmasked" else view for name, view in views.items()}
    return views


def _store(model: Asked, benchmark: Benchmark, cache: bool | str | Path, alignment: str) -> ObservationCache:
    """The cache of this model's token observations on this benchmark, for all views."""
    cut = f"{likelihood.BLOCK_ITEMS} {likelihood.BLOCK_TOKENS}"
    key = identity(
        model, data=benchmark.data_hash, alignment=alignment, blocks=cut, version=str(family_of(benchmark).VERSION)
    )
    return ObservationCache(observations_folder(cache), key)


def _attachments(model: Asked, benchmark: Benchmark, store: ObservationCache, views: Sequence[str]) -> dict[str, Path]:
    """The files with every token that was read: path in a run folder → path in the cache."""
    if store.folder is None:
        return {}
    place = f"observations/{model.name.replace('/', '--')}/{benchmark.name}"
    return {
        f"{place}/{view}/{block.name}": block
        for view in views
        for block in sorted((store.folder / view).glob("block-*.parquet"))
    }


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
        "score": np.concatenate([scores.value for scores in scored]),
        "n_tokens": np.concatenate([scores.n_tokens for scores in scored]),
        "reason": np.concatenate([scores.reason for scores in scored]),
    }
    for column in GROUP_COLUMNS:
        columns[column] = [_group(item, column) for item, _ in sentences] * n
    assert set(columns) | {"model", "benchmark"} == set(SCORE_COLUMNS)
    return columns


def _group(item: Item, column: str) -> str | None:
    value = getattr(item, column)
    return None if value is None else str(value)
