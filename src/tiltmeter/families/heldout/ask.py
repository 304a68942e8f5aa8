"""Asking about held-out text: the log-probability and the rank of every token, added up line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.families.heldout.check import check
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.seam import How, Known
from tiltmeter.models import LanguageModel
from tiltmeter.probes import Block, LikelihoodProbe, likelihood
from tiltmeter.scorers import tokens_of
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts

if TYPE_CHECKING:
    import pandas as pd

VIEWS = {"masked": ("pll", "each"), "causal": ("causal", "causal")}
"""For each kind of model the name of how it is asked, and the view: a masked model is asked for one token at a time."""
COLUMNS = ("model", "benchmark", "item", "scorer", "log_likelihood", "hits", "length", "reason")
"""One row per line of text. `length` counts its tokens, `hits` those of rank 1. `reason`: why it could not be asked."""


def ask(model: LanguageModel, benchmark: Benchmark, options: Any, how: How) -> Answers:
    """Reads every token of every line. Finished blocks are kept in the cache."""
    check(benchmark, [Known(model.name, model.kind, model)], options)
    scorer, view = VIEWS[model.kind]
    cut = f"{likelihood.BLOCK_ITEMS} {likelihood.BLOCK_TOKENS}"
    store = ObservationCache(
        observations_folder(how.cache), identity(model, data=benchmark.data_hash, probe="heldout", blocks=cut)
    )
    with how.watched(f"{model.name} × {benchmark.name}", benchmark.size) as advance:
        probe = LikelihoodProbe(model, store, batch_tokens=how.batch_tokens, advance=advance, share=how.share)
        parts = [_lines(block, view) for block in probe.observe(benchmark.asked_items, [view])]
    manifest = {
        "family": benchmark.family,
        "model": model_facts(model),
        "benchmark": benchmark_facts(benchmark, scored_items=len(benchmark.asked_items)),
        "scorers": [scorer],
        "views": [view],
        "observations": {"key": store.key},
        **probe.work.counts(),
    }
    table = _table(parts, model.name, benchmark.name, scorer)
    return Answers(benchmark.family, {"heldout": table}, items_table(benchmark), (manifest,))


def blocks(model: LanguageModel, benchmark: Benchmark, options: Any) -> int:
    """In how many blocks a model is asked."""
    return sum(1 for _ in likelihood.blocks(benchmark.asked_items))


def _lines(block: Block, view: str) -> dict[str, Any]:
    """What each line of a block adds up to."""
    tokens = tokens_of(block.tables[view], [(item.id, role) for item in block.items for role in item.texts])
    total = tokens.total(tokens.logprob)
    return {
        "item": [item.id for item in block.items],
        "log_likelihood": total.value,
        "hits": tokens.total((tokens.rank == 1).astype(np.float64)).value,
        "length": total.n_tokens.astype(np.float64),
        "reason": total.reason,
    }


def _table(parts: list[dict[str, Any]], model: str, benchmark: str, scorer: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
    return frame.assign(model=model, benchmark=benchmark, scorer=scorer)[list(COLUMNS)]
