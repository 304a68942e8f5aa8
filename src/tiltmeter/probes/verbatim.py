"""Can a model complete a text verbatim? Its second half, token by token, after the first half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltmeter.models import LanguageModel
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.passes import in_batches
from tiltmeter.probes.plan import make_plan
from tiltmeter.probes.views import Query
from tiltmeter.probes.work import Work

FEWEST_TOKENS = 16
"""Shorter texts are left out: a few tokens can be guessed."""


@dataclass(frozen=True)
class Completion:
    """How many tokens the second half of a text has, and how many of them are the model's likeliest token."""

    n_tokens: int
    n_likeliest: int

    @property
    def is_verbatim(self) -> bool:
        """Return whether greedy generation after the first half writes the second half word for word."""
        return self.n_likeliest == self.n_tokens


def complete_halves(
    model: LanguageModel, texts: Sequence[str], *, batch_tokens: int | str = "auto"
) -> list[Completion | None]:
    """Compare the second half of each text with a causal model's likeliest tokens.

    One pass for each text: every token is read after the true tokens before it. If all are the likeliest, greedy generation
    writes the same. A text that is too short or too long gives None.
    """
    encoded = model.tokens.encode(list(texts), special=False)
    limit = model.tokens.max_length
    queries, lengths = [], {}
    for number, row in enumerate(encoded):
        if len(row.ids) < FEWEST_TOKENS or (limit is not None and len(row.ids) > limit):
            continue
        half = len(row.ids) // 2
        columns = tuple(range(half, len(row.ids)))
        ids = (model.tokens.bos_id or 0, *row.ids[:-1])
        queries.append(Query(number, ids, columns, row.ids[half:], tuple(range(len(columns)))))
        lengths[number] = len(columns)
    hits = np.zeros(len(texts), dtype=np.int64)
    if queries:
        plan = make_plan({0: queries}, 0, model.tree_rows)
        budget = TokenBudget(model, batch_tokens)
        for reads, answer in in_batches(model, plan, budget, Work(), lambda batch, _: model.read(batch)):
            np.add.at(hits, plan.reads.sentence[reads], answer.rank == 1)
    return [Completion(lengths[n], int(hits[n])) if n in lengths else None for n in range(len(texts))]
