"""Choice of one token from a model's logits: temperature, top-k, top-p, a penalty for repeating, or the likeliest.

A token is drawn by the Gumbel-max trick: noise is added to every logit, and the largest wins. The noise of a row is a part
of one table that begins at a number of the row's own, so what a row says does not depend on the rows that share its batch.
Inverting the cumulated distribution would do as well, but then the rounding of some thousand small probabilities decides: a
batch of another size changed one token in 600. Here it takes two tokens that are equally good to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    import torch

PLACES = 2**23
"""Number of places where the noise of a row may begin. Probabilities are exact to about 1e-4."""
TABLE_SEED = 20190605
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sampling:
    """`new_tokens`: at most so many, or for a masked model exactly.

    `sentence`: stop where the sentence ends. `rounds`: how often a masked model visits every new position.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    greedy: bool = False
    new_tokens: int = 30
    sentence: bool = True
    rounds: int = 2

    def check(self) -> None:
        """Raise an error for the first number that is out of range."""
        for name, message in self._problems():
            raise UsageError(message, code="out-of-range", name=name, value=getattr(self, name))

    def _problems(self) -> Iterator[tuple[str, str]]:
        if not 0 < self.temperature < math.inf:
            yield (
                "temperature",
                f"--temperature must be above 0, not {self.temperature}. For the likeliest token at every step, "
                "which 0 would mean, give --greedy.",
            )
        if not 0 < self.top_p <= 1:
            yield "top_p", f"--top-p must be above 0 and at most 1, not {self.top_p}."
        if self.top_k < 0:
            yield "top_k", f"--top-tokens must be at least 0 (0: all tokens), not {self.top_k}."
        if not 1 <= self.repetition_penalty < math.inf:
            yield "repetition_penalty", f"--repetition-penalty must be at least 1 (1: none), not {self.repetition_penalty}."
        if self.new_tokens < 1:
            yield "new_tokens", f"--new-tokens must be at least 1, not {self.new_tokens}."
        if self.rounds < 1:
            yield "rounds", f"--rounds must be at least 1, not {self.rounds}."

    def choose(self, logits: torch.Tensor, places: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A token for each row, and its log-probability by the model itself (without temperature and the rest).

        `places`: a number below PLACES for each row. `seen` are the ids of each row so far, which the penalty is about.
        """
        whole = logits.logsumexp(1)
        shaped = self._shaped(logits, seen)
        chosen = (shaped if self.greedy else shaped + _noise(places, shaped)).argmax(1)
        return chosen, logits.gather(1, chosen[:, None])[:, 0] - whole

    def _shaped(self, logits: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        shaped = logits if self.repetition_penalty == 1 else _penalised(logits, seen, self.repetition_penalty)
        if self.greedy:
            return shaped
        shaped = shaped if self.temperature == 1 else shaped / self.temperature
        if 0 < self.top_k < shaped.shape[1]:
            least = shaped.topk(self.top_k, dim=1).values[:, -1:]
            shaped = shaped.masked_fill(shaped < least, -math.inf)
        return shaped if self.top_p == 1 else _nucleus(shaped, self.top_p)


def _penalised(logits: torch.Tensor, seen: torch.Tensor, penalty: float) -> torch.Tensor:
    """Tokens that were there before become less likely (Keskar et al., 2019)."""
    import torch

    before = logits.gather(1, seen)
    return logits.scatter(1, seen, torch.where(before > 0, before / penalty, before * penalty))


def _nucleus(logits: torch.Tensor, share: float) -> torch.Tensor:
    """The likeliest tokens that together have this share, with the one that crosses it (Holtzman et al., 2020)."""
    ordered, order = logits.sort(1, descending=True)
    probability = ordered.softmax(1)
    beyond = probability.cumsum(1) - probability >= share
    return logits.masked_fill(beyond.scatter(1, order, beyond), -math.inf)


def _noise(places: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Gumbel noise for every logit."""
    width = logits.shape[1]
    return _table(width, str(logits.device)).unfold(0, width, 1)[places]


@cache
def _table(width: int, device: str) -> torch.Tensor:
    import torch

    uniform = np.random.default_rng(TABLE_SEED).random(PLACES + width, dtype=np.float32)
    noise = -np.log(-np.log(np.maximum(uniform, np.float32(1e-30))))
    return torch.from_numpy(noise).to(device)


def random_places(seeds: Ints, n: int) -> Ints:
    """The numbers of some rows for n tokens each, from the seeds of each row (numbers, one row of them) alone."""
    return (random_words(seeds, n) >> np.uint64(64 - PLACES.bit_length() + 1)).astype(np.int64)


def random_words(seeds: Ints, n: int) -> NDArray[np.uint64]:
    """Rows × n numbers of 64 bits, counted and mixed (SplitMix64: Steele, Lea and Flood, 2014).

    A generator for each row would be as good, and take as long to set up as a small model takes for a token.
    """
    state = np.zeros(len(seeds), dtype=np.uint64)
    for column in np.asarray(seeds, dtype=np.int64).T:
        state = _mixed(state + GOLDEN ^ column.astype(np.uint64))
    return _mixed(state[:, None] + GOLDEN * np.arange(1, n + 1, dtype=np.uint64))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ words >> np.uint64(shift)) * np.uint64(factor)
    return words ^ words >> np.uint64(31)
