"""Inference on held-out text: the log-probability and the rank of every token, added up line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import Benchmark
from tiltmeter.families.heldout.check import check
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pieces import AnswerStream, together
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, family_of
from tiltmeter.models import LanguageModel
from tiltmeter.probes import Block, LikelihoodProbe, likelihood
from tiltmeter.scorers import tokens_of
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts

if TYPE_CHECKING:
    import pandas as pd

VIEWS = {"masked": ("pll", "each"), "causal": ("causal", "causal")}
"""For each kind of model the name of the method, and the view: a masked model predicts one token at a time."""
COLUMNS = ("model", "benchmark", "item", "scorer", "log_likelihood", "hits", "length", "reason")
"""One row per line of text. `length` counts its tokens, `hits` those of rank 1. `reason`: why it could not be scored."""


def ask(model: LanguageModel, benchmark: Benchmark, options: Any, context: AskContext) -> Answers:
    """Reads every token of every line. Finished blocks are kept in the cache."""
    return together(stream(model, benchmark, options, context), benchmark)


def stream(model: LanguageModel, benchmark: Benchmark, options: Any, context: AskContext) -> AnswerStream:
    """Score a block of lines at a time."""
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    return _Asking(model, benchmark, context)


class _Asking:
    """One model that reads one text."""

    def __init__(self, model: LanguageModel, benchmark: Benchmark, context: AskContext) -> None:
        self.model, self.benchmark, self.context = model, benchmark, context
        self.scorer, self.view = VIEWS[model.kind]
        cut = f"{likelihood.BLOCK_ITEMS} {likelihood.BLOCK_TOKENS}"
        key = identity(
            model, data=benchmark.data_hash, probe="heldout", blocks=cut, version=str(family_of(benchmark).VERSION)
        )
        self.store = ObservationCache(observations_folder(context.cache), key)
        self.probe = LikelihoodProbe(model, self.store, batch_tokens=context.batch_tokens, share=context.share)

    def tables(self) -> Iterator[dict[str, pd.DataFrame]]:
        """The lines of each block."""
        names = {"model": self.model.name, "benchmark": self.benchmark.name, "scorer": self.scorer}
        with self.context.watched(f"{self.model.name} × {self.benchmark.name}", self.benchmark.size) as self.probe.advance:
            for block in self.probe.observe(self.benchmark.asked_items, [self.view]):
                yield {"heldout": _lines(block, self.view).assign(**names)[list(COLUMNS)]}

    def about(self) -> tuple[dict[str, Any], dict[str, Path]]:
        """Return the facts of the question for the manifest."""
        manifest = {
            "family": self.benchmark.family,
            "model": model_facts(self.model),
            "benchmark": benchmark_facts(self.benchmark, scored_items=len(self.benchmark.asked_items)),
            "scorers": [self.scorer],
            "views": [self.view],
            "observations": {"key": self.store.key},
            **self.probe.work.counts(),
        }
        return manifest, {}


def blocks(model: LanguageModel, benchmark: Benchmark, options: Any) -> int:
    """Number of blocks in which the lines are scored."""
    return sum(1 for _ in likelihood.blocks(benchmark.asked_items))


def _lines(block: Block, view: str) -> pd.DataFrame:
    """Sums over the tokens of each line of a block."""
    import pandas as pd

    tokens = tokens_of(block.tables[view], [(item.id, role) for item in block.items for role in item.texts])
    total = tokens.total(tokens.logprob)
    return pd.DataFrame(
        {
            "item": [item.id for item in block.items],
            "log_likelihood": total.value,
            "hits": tokens.total((tokens.rank == 1).astype(np.float64)).value,
            "length": total.n_tokens.astype(np.float64),
            "reason": total.reason,
        }
    )
