"""A recipe: everything about a fine-tuning that is neither the model nor the data."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tiltmeter.errors import UsageError

NOT_NAMED = ("piece_tokens",)
"""Decides how the same sums are cut, and not what is summed: another machine may go on with another one."""


@dataclass(frozen=True)
class Recipe:
    """The budget is `steps`, or `epochs` where steps are 0.

    `rows` is what one step of the optimizer sees. A step is cut into pieces of at most `piece_tokens` tokens (0: what suits
    the device), whose gradients add up to those of the whole, each piece weighing what it has: that is gradient
    accumulation, and its result does not depend on the cut.
    """

    steps: int = 0
    epochs: float = 1.0
    rows: int = 32
    piece_tokens: int = 0
    peak_rate: float = 5e-5
    warmup: float = 0.0  # share of the steps in which the rate rises; then it falls linearly to zero
    weight_decay: float = 0.0
    clip: float = 1.0  # the norm that gradients are cut to; 0: as they are
    seed: int = 0
    evaluate_every: int = 0  # steps between looks at the held-out rows; 0: at the beginning and the end only
    patience: int = 0  # looks without a lower loss before the training ends, with the best weights; 0: never
    lora_rank: int = 0  # 0: all weights learn
    lora_alpha: float = 0.0  # 0: twice the rank

    def __post_init__(self) -> None:
        if wrong := list(self._problems()):
            raise UsageError(f"Invalid recipe: {'; '.join(wrong)}.", code="out-of-range", problems=wrong)

    def _problems(self) -> Iterator[str]:
        """Every one, so that all are mended in one go."""
        problems = {
            "steps must not be negative": self.steps < 0,
            "epochs must be positive": not (self.steps or 0 < self.epochs < math.inf),
            "rows must be at least 1": self.rows < 1,
            "the rate must be positive": not 0 < self.peak_rate < math.inf,
            "warmup must be at least 0 and below 1": not 0 <= self.warmup < 1,
            "weight_decay and clip must not be negative": not all(0 <= x < math.inf for x in (self.weight_decay, self.clip)),
            "the seed must not be negative": self.seed < 0,
            "patience needs evaluate_every": self.patience > 0 and self.evaluate_every < 1,
            "patience, evaluate_every, piece_tokens and lora_rank must not be negative": min(
                self.patience, self.evaluate_every, self.piece_tokens, self.lora_rank
            )
            < 0,
            "lora_alpha must not be negative": not 0 <= self.lora_alpha < math.inf,
        }
        yield from (what for what, is_so in problems.items() if is_so)

    def n_steps(self, n_rows: int) -> int:
        """How many steps the budget pays for, over a text of so many rows."""
        return self.steps or max(1, math.ceil(self.epochs * math.ceil(n_rows / self.rows)))

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)

    def digest(self) -> str:
        """Names this recipe in a checkpoint, so that another recipe's is not continued by mistake."""
        named = {name: value for name, value in asdict(self).items() if name not in NOT_NAMED}
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
