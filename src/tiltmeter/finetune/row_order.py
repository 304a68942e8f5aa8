"""Order of rows: a function of seed and step alone, so that a resumed training sees the same ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ORDER, DRAWS, DROPOUT, HELD_OUT = range(4)
"""What a random number is for: streams of one seed that never meet."""
SORTED_TOGETHER = 32


def random(seed: int, purpose: int, *numbers: int) -> np.random.Generator:
    """The random numbers of one step, or of one epoch."""
    return np.random.default_rng([seed, purpose, *numbers])


@dataclass(frozen=True, eq=False)
class Order:
    """Every row once an epoch, in an order of its own. Rows of a step are of like length, so that little is padding.

    Steps are cut from stretches of 32 steps' rows that were sorted by length, and then shuffled.
    """

    lengths: Ints
    rows: int
    seed: int

    @cached_property
    def steps_per_epoch(self) -> int:
        """The last of them may be smaller."""
        return math.ceil(len(self.lengths) / self.rows)

    def __call__(self, step: int) -> Ints:
        """Row numbers, longest first."""
        epoch, turn = divmod(step, self.steps_per_epoch)
        return self._epoch(epoch)[turn]

    @lru_cache(maxsize=1)  # noqa: B019  (one object lives as long as the training)
    def _epoch(self, epoch: int) -> list[Ints]:
        draw = random(self.seed, ORDER, epoch)
        shuffled = draw.permutation(len(self.lengths))
        stretch = SORTED_TOGETHER * self.rows
        parts = [shuffled[at : at + stretch] for at in range(0, len(shuffled), stretch)]
        alike = np.concatenate([part[np.argsort(-self.lengths[part], kind="stable")] for part in parts])
        steps = [alike[at : at + self.rows] for at in range(0, len(alike), self.rows)]
        return [steps[n] for n in draw.permutation(len(steps))]
