"""Continuation of prompts by a causal model: many rows at once, each with random numbers of its own.

A causal model's rows need no padding. All begin with as many tokens as the shortest prompt has; a row whose prompt is
longer is fed its own next tokens, and speaks when they are used up. So every row has the positions that it would have
alone, for any architecture, and rows that are finished leave the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models.kv_cache import give_room
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.sampling import Sampling

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
AreEnds = Callable[[Sequence[Sequence[int]]], Sequence[bool]]
"""Test for each of some rows: is the text so far a whole sentence?"""
LEAVING = 0.5
"""Finished rows leave when so many of the batch's rows are finished: rearranging the cache costs about a step."""
REFUSED = {
    "xlnet": "XLNet predicts tokens in random orders, and continuing a text with it is not supported yet",
}


@dataclass(frozen=True)
class Vocabulary:
    """Roles of token ids: `banned` are never generated, `stop` end a text, and `closing` may end a sentence."""

    banned: Ints
    stop: frozenset[int]
    closing: NDArray[np.bool_]


@dataclass(frozen=True)
class Generated:
    """A generated text: ids without the one that ended it, and the log-probability of all of them (NaN: not finite)."""

    ids: tuple[int, ...]
    logprob: float


def why_not(module: Any) -> str | None:
    """Reason why a model cannot continue a text; None if it can."""
    return REFUSED.get(str(getattr(module.config, "model_type", "")))


class _Rows:
    """The rows of a batch that are still in the cache, and what they have said."""

    def __init__(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> None:
        self.lengths = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
        self.width = int(self.lengths.max()) + sampling.new_tokens
        self.ids = np.zeros((len(prompts), self.width), dtype=np.int64)
        for row, prompt in enumerate(prompts):
            self.ids[row, : len(prompt)] = prompt
        self.sampling = sampling
        self.logprob = np.zeros(len(prompts))
        self.ends = np.full(len(prompts), -1, dtype=np.int64)
        self.present = np.arange(len(prompts))

    def speaking(self, column: int) -> Ints:
        """The rows, by their place in the cache, that say a token now."""
        rows = self.present
        return np.flatnonzero((self.lengths[rows] <= column) & (self.ends[rows] < 0))

    def say(self, column: int, places: Ints, tokens: Ints, logprobs: Floats, words: Vocabulary, are_ends: AreEnds) -> None:
        """Note one token for each of these rows, and which of them are finished by it."""
        rows = self.present[places]
        stopped = np.isin(tokens, list(words.stop)) | ~np.isfinite(logprobs)
        self.ids[rows, column] = tokens
        self.logprob[rows] += logprobs
        self.ends[rows[stopped]] = column
        full = column + 1 - self.lengths[rows] >= self.sampling.new_tokens
        self.ends[rows[full & ~stopped]] = column + 1
        if not self.sampling.sentence:
            return
        closing = rows[words.closing[tokens] & ~stopped & ~full]
        ends = are_ends([self.ids[row, self.lengths[row] : column + 1].tolist() for row in closing])
        self.ends[closing[np.array(ends, dtype=bool)]] = column + 1

    def leave(self) -> Ints | None:
        """The places that stay in the cache, if enough rows are finished for the others to move together."""
        going = self.ends[self.present] < 0
        if going.all() or going.mean() > LEAVING:
            return None
        stay = np.flatnonzero(going)
        self.present = self.present[stay]
        return stay

    def said(self) -> list[Generated]:
        """Generated text of every row."""
        return [
            Generated(tuple(self.ids[row, self.lengths[row] : self.ends[row]].tolist()), float(self.logprob[row]))
            for row in range(len(self.ids))
        ]


def go_on(
    parts: BodyAndHead,
    prompts: Sequence[Sequence[int]],
    noise: Ints,
    sampling: Sampling,
    words: Vocabulary,
    are_ends: AreEnds,
) -> list[Generated]:
    """Continue each prompt with a causal model. `noise` has a random number per row and token."""
    rows = _Rows(prompts, sampling)
    steps = _Steps(parts, rows.width)
    banned = parts.send(words.banned)
    fed, column = 0, int(rows.lengths.min())
    while len(rows.present):
        hidden = steps(rows.ids[rows.present, (fed if steps.remembers else 0) : column])
        places = rows.speaking(column)
        if len(places):
            who = rows.present[places]
            numbers = noise[who, column - rows.lengths[who]]
            seen = rows.ids[who, :column] if sampling.repetition_penalty != 1 else np.empty((len(who), 0), dtype=np.int64)
            tokens, logprobs = choose_tokens(parts, hidden, places, banned, (numbers, seen), sampling)
            rows.say(column, places, tokens, logprobs, words, are_ends)
        fed, column = column, column + 1
        if (stay := rows.leave()) is not None:
            steps.keep(parts.send(stay))
    return rows.said()


def choose_tokens(
    parts: BodyAndHead,
    hidden: torch.Tensor,
    places: Ints,
    banned: torch.Tensor,
    numbers_and_seen: tuple[Ints, Ints],
    sampling: Sampling,
) -> tuple[Ints, Floats]:
    """Tokens and their log-probabilities, some rows at a time: logits of a whole vocabulary are large."""
    import torch

    states = hidden if len(places) == len(hidden) else hidden[parts.send(places)]
    numbers, seen = parts.send(numbers_and_seen[0]), parts.send(numbers_and_seen[1])
    chosen = []
    for first, last in parts.chunks(len(states)):
        logits = parts.head(states[first:last])
        logits[:, banned] = -torch.inf
        chosen.append(sampling.choose(logits, numbers[first:last], seen[first:last]))
    tokens, logprobs = (torch.cat(each) for each in zip(*chosen, strict=True))
    return tokens.cpu().numpy(), logprobs.double().cpu().numpy()


class _Steps:
    """Forward passes that remember what they have read. A model that gives no cache reads everything again."""

    def __init__(self, parts: BodyAndHead, width: int) -> None:
        self.parts, self.width = parts, width
        self.cache: Any = None
        self.remembers = True

    def __call__(self, ids: Ints) -> torch.Tensor:
        """The hidden states (without a split, the logits) at the last column. `ids` are new, or everything."""
        parts = self.parts
        target = parts.module if parts.body_module is None else parts.body_module
        options = {"use_cache": True, "past_key_values": self.cache} if self.remembers else {"use_cache": False}
        output = target(input_ids=parts.send(np.ascontiguousarray(ids)), **options)
        if self.cache is None:
            give_room(getattr(output, "past_key_values", None), self.width)
        self.cache = getattr(output, "past_key_values", None)
        self.remembers = self.cache is not None and hasattr(self.cache, "batch_select_indices")
        last: torch.Tensor = (output.logits if parts.body_module is None else output.last_hidden_state)[:, -1]
        return last

    def keep(self, places: torch.Tensor) -> None:
        """Forget all rows but these."""
        if self.remembers and len(places):
            self.cache.batch_select_indices(places)
