"""How many tokens go into one batch: as told, or found out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.models import LanguageModel

CPU_TOKENS = 4096
"""On a CPU larger batches only push activations out of its cache."""
GPU_TOKENS = 2**16
GPU_TOKENS_MOST = 2**17
PADDING_SHARE = 0.04
"""A batch ends where a sequence would be padded by more than this, unless it is too small to be worth ending."""
SMALLEST_SHARE = 0.125
ATTENTION_CELLS = {"cpu": 2**25, "gpu": 2**30}
"""Attention weights held at once when they are asked for: layers × heads × width² a sequence."""


class TokenBudget:
    """Tokens per batch. `auto` doubles on a GPU while batches fit; out of memory halves it, whoever set it."""

    def __init__(self, model: LanguageModel, batch_tokens: int | str = "auto") -> None:
        on_gpu = model.device != "cpu"
        self.attention_cells = ATTENTION_CELLS["gpu" if on_gpu else "cpu"] // model.attention_cells
        if batch_tokens == "auto":
            self.tokens, self.most = (GPU_TOKENS, GPU_TOKENS_MOST) if on_gpu else (CPU_TOKENS, CPU_TOKENS)
        else:
            self.tokens = self.most = _positive(batch_tokens)

    def sequences(self, lengths: NDArray[np.int64], first: int, attention: bool) -> int:
        """How many sequences from the first on (they come longest first) make a batch."""
        width = int(lengths[first])
        most = self._most(width, self.tokens, attention)
        least = self._most(width, int(self.tokens * SMALLEST_SHARE), attention)
        shortest = width * (1 - PADDING_SHARE)
        long_enough = int(np.searchsorted(-lengths[first:], -shortest, side="right"))
        return min(most, max(least, long_enough))

    def _most(self, width: int, tokens: int, attention: bool) -> int:
        size = tokens // width
        if attention:
            size = min(size, self.attention_cells // width**2)
        return max(1, size)

    def fitted(self) -> None:
        """A batch went through: try a larger one next."""
        self.tokens = min(self.tokens * 2, self.most)

    def failed(self, width: int, size: int) -> None:
        """Out of memory: halve, and stay below from now on."""
        if size == 1:
            raise TiltmeterError(
                f"One sequence of {width} tokens does not fit into memory. Use a smaller model, --precision bf16, "
                "or another device."
            )
        self.tokens = self.most = max(1, width * size // 2)


def _positive(value: int | str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise TiltmeterError(f"--batch-tokens is 'auto' or a number of tokens, not '{value}'.")
    return number


def check_batch_tokens(value: int | str) -> None:
    """Refuses what is neither 'auto' nor a number."""
    if value != "auto":
        _positive(value)
