"""Number of tokens in one batch: as the user set it, or measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models import Encoder, LanguageModel

CPU_TOKENS = 4096
"""On a CPU larger batches only push activations out of its cache."""
GPU_TOKENS = 2**16
MOST_TOKENS = {"cpu": CPU_TOKENS, "fp32": 2**17, "fast": 2**18}
"""In the faster precisions a GPU has done a batch before Python has prepared the next, so they are larger."""
BATCH_COST = {"cpu": 128, "fp32": 3_000, "fast": 12_000}
"""The cost of starting one batch, in tokens that could have been computed meanwhile. Padding pays off up to this cost.
A GPU computes several times as many tokens in the faster precisions, while Python starts batches no faster."""
BASE_LAYER, LEAST_COST = 10_000_000, 256
"""These costs are of layers of BERT-base's size. Larger ones take a GPU longer and Python as long, so that a batch of them
costs fewer tokens: of a model of eight billion parameters some 500."""
ACTIVATION_BYTES = 2**33
"""The most memory of a batch's activations on a GPU, beside the weights. Models of a billion parameters and more reach it:
they compute as fast in batches of some 4,000 tokens as in larger ones."""
ATTENTION_CELLS = {"cpu": 2**25, "gpu": 2**30}
"""The most attention weights held at once: layers × heads × width² per sequence."""


class TokenBudget:
    """Tokens per batch. `auto` doubles it on a GPU while batches fit. Running out of memory halves it, auto or not."""

    def __init__(self, model: LanguageModel | Encoder, batch_tokens: int | str = "auto") -> None:
        on_gpu = model.device != "cpu"
        speed = "cpu" if not on_gpu else "fp32" if model.precision == "fp32" else "fast"
        self.batch_cost = BATCH_COST[speed]
        if on_gpu:
            larger = int(getattr(model, "layer_weights", 0)) / BASE_LAYER
            self.batch_cost = max(LEAST_COST, int(self.batch_cost / max(1.0, larger)))
        self.joins = bool(getattr(model, "joins", False))
        self.attention_cells = ATTENTION_CELLS["gpu" if on_gpu else "cpu"] // model.attention_cells
        if batch_tokens == "auto":
            each = int(getattr(model, "token_bytes", 0))
            self.most = min(MOST_TOKENS[speed], ACTIVATION_BYTES // each if each and on_gpu else MOST_TOKENS[speed])
            self.tokens = min(self.most, GPU_TOKENS if on_gpu else CPU_TOKENS)
        else:
            self.tokens = self.most = _positive(batch_tokens)

    def cuts(self, lengths: NDArray[np.int64], attention: bool) -> list[int]:
        """Sizes of the batches with the least total cost of padding and starting. The sequences come longest first.

        Exact, by dynamic programming over the distinct lengths: `best[n]` is the cost of the n longest kinds.
        """
        if self.joins and not attention:
            return self._without_padding(lengths)
        widths, counts = (array[::-1] for array in np.unique(lengths, return_counts=True))
        upto = np.concatenate([[0], np.cumsum(counts)])
        most = np.array([self._most(int(width), attention) for width in widths])
        best, begin = np.zeros(len(upto)), np.zeros(len(upto), dtype=np.int64)
        for n in range(1, len(upto)):
            sequences = upto[n] - upto[:n]
            cost = best[:n] + widths[:n] * sequences + self.batch_cost * np.ceil(sequences / most[:n])
            begin[n] = cost.argmin()
            best[n] = cost[begin[n]]
        sizes: list[int] = []
        n = len(widths)
        while n:
            first = begin[n]
            sizes += _even(int(upto[n] - upto[first]), int(most[first]))
            n = first
        return sizes[::-1]

    def _without_padding(self, lengths: NDArray[np.int64]) -> list[int]:
        """Cut into as few batches as the limit allows, of nearly equal numbers of tokens."""
        upto = np.cumsum(lengths)
        parts = min(len(lengths), max(1, -(-int(upto[-1]) // self.tokens)))
        ends = np.searchsorted(upto, upto[-1] * np.arange(1, parts) / parts, side="right")
        edges = np.unique(np.concatenate([[0], ends, [len(lengths)]]))
        return [int(size) for size in np.diff(edges)]

    def _most(self, width: int, attention: bool) -> int:
        size = self.tokens // width
        if attention:
            size = min(size, self.attention_cells // width**2)
        return max(1, size)

    def at_block(self, number: int) -> None:
        """Behind the first block batches have grown, also where that block was known before or is another worker's."""
        if number:
            self.tokens = self.most

    def fitted(self) -> None:
        """Record that a batch fitted into memory, so that a larger one is tried next."""
        self.tokens = min(self.tokens * 2, self.most)

    def failed(self, width: int, size: int) -> None:
        """Record that a batch did not fit: halve the size and keep it below from now on."""
        if size == 1:
            raise ModelError(
                f"One sequence of {width} tokens does not fit into memory. Use a smaller model, --precision bf16, "
                "or another device.",
                code="out-of-memory",
                tokens=width,
            )
        self.tokens = self.most = max(1, min(self.tokens, width * size) // 2)


def _even(n: int, most: int) -> list[int]:
    """n divided into as few, nearly equal, parts as the limit allows."""
    parts = -(-n // most)
    return [n // parts + (part < n % parts) for part in range(parts)]


def _positive(value: int | str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(
            f"--batch-tokens must be 'auto' or a number of tokens, not '{value}'.",
            code="wrong-type",
            name="batch_tokens",
            value=value,
        )
    return number


def check_batch_tokens(value: int | str) -> None:
    """Raise an error if the value is neither 'auto' nor a number."""
    if value != "auto":
        _positive(value)
