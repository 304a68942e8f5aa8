"""Mask filling: log-probability and rank of many terms at once, and the likeliest tokens on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.logits import LogProbabilities, count_larger_of_many

if TYPE_CHECKING:
    from tiltmeter.models.language_model import Batch

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Ask:
    """Reads at the masks of every sequence of a batch; each sequence has as many masks as `tokens` has rows.

    `tokens`: masks × terms, the ids of each term. `values`: sequences × others, log-probabilities that are ranked among
    the vocabulary although they were found elsewhere. `top`: how many of the likeliest tokens to list. Ranks and the
    likeliest tokens are of the first mask, so they are for sequences with one.
    """

    tokens: Ints
    values: Floats | None = None
    top: int = 0


@dataclass(frozen=True)
class Filled:
    """Sequences × terms: the log-probability (mean over the masks) and the rank; the ranks of `values`; the top."""

    logprob: Floats
    rank: Ints
    value_rank: Ints
    top_token: Ints
    top_logprob: Floats


def fill(parts: BodyAndHead, batch: Batch, ask: Ask) -> Filled:
    """One forward pass; its masks are the batch's sites, in order."""
    import torch

    rows, columns, tokens = (parts.send(array) for array in (batch.site_row, batch.site_column, ask.tokens))
    hidden, _ = parts.body(batch.ids, batch.lengths, (rows, columns), attention=False)
    masks, n = len(ask.tokens), len(batch.lengths)
    values = parts.send(ask.values if ask.values is not None else np.empty((n, 0), dtype=np.float32))
    parts_of_answer: list[tuple[Any, ...]] = []
    for first, last in parts.chunks(len(rows)):
        logits = parts.head(hidden[first:last])
        known = LogProbabilities(logits)
        here = torch.arange(first, last, device=tokens.device)
        terms = tokens[here % masks]
        logprob = known.at((here - first)[:, None], terms)
        if masks > 1:
            parts_of_answer.append((logprob,))
            continue
        wanted = torch.cat([logits.gather(1, terms), values[first:last] + known.total()[:, None]], 1)
        ranks = 1 + count_larger_of_many(logits, wanted) if wanted.shape[1] else wanted.long()
        top = logits.topk(ask.top, 1).indices if ask.top else terms[:, :0]
        parts_of_answer.append((logprob, ranks, top, known.at((here - first)[:, None], top)))
    arrays = [torch.cat(part).cpu().numpy() for part in zip(*parts_of_answer, strict=True)]
    logprob = arrays[0].reshape(n, masks, -1).mean(1)
    if masks > 1:
        nothing = np.zeros((n, 0), dtype=np.int64)
        return Filled(logprob, nothing, nothing, nothing, nothing.astype(np.float32))
    n_terms = ask.tokens.shape[1]
    return Filled(logprob, arrays[1][:, :n_terms], arrays[1][:, n_terms:], arrays[2], arrays[3])


def logprobs(parts: BodyAndHead, batch: Batch) -> Floats:
    """The log-probability of every read of a batch, without its rank: counting costs more than the rest of a small model."""
    import torch

    rows, columns, sites, golds = parts.send_all(batch.site_row, batch.site_column, batch.site_of_read, batch.token_of_read)
    hidden, _ = parts.body(batch.ids, batch.lengths, (rows, columns), False, batch.ends)
    logprob = torch.empty(len(golds), device=hidden.device)
    for first, last in parts.chunks(len(rows)):
        low, high = (int(edge) for edge in np.searchsorted(batch.site_of_read, (first, last)))
        known = LogProbabilities(parts.head_as_is(hidden[first:last]))
        logprob[low:high] = known.at(sites[low:high] - first, golds[low:high])
    logprob = logprob.masked_fill(~logprob.isfinite(), float("nan"))
    return np.asarray(logprob.cpu().numpy(), dtype=np.float32)
