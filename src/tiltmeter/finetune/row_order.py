"""Order of rows: a function of seed and step alone, so that a resumed training sees the same ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ORDER, DRAWS, DROPOUT, HELD_OUT = range(4)
"""Purposes of random numbers: streams of one seed that never meet."""
SORTED_TOGETHER = 32


def random(seed: int, purpose: int, *numbers: int) -> np.random.Generator:
    """The random numbers of one step, or of one epoch."""
    return np.random.default_rng([seed, purpose, *numbers])


@dataclass(frozen=True, eq=False)
class Order:
    """Every row once an epoch, in an order of its own. Rows of a step are of like length, so that little is padding.

    Steps are cut from stretches of 32 steps' rows that were sorted by length, and then shuffled. With `kinds`, a step has
    rows of one kind, and an epoch has as many full steps of each kind as its smallest kind from 0 on has.
    """

    lengths: Ints
    rows: int
    seed: int
    kinds: Ints | None = None

    @cached_property
    def steps_per_epoch(self) -> int:
        """The last of them may be smaller."""
        if self.kinds is not None:
            return self._steps_each * len(np.unique(self.kinds))
        return math.ceil(len(self.lengths) / self.rows)

    @cached_property
    def _steps_each(self) -> int:
        assert self.kinds is not None
        sizes = [int((self.kinds == kind).sum()) for kind in np.unique(self.kinds) if kind >= 0] or [len(self.kinds)]
        return max(1, min(sizes) // self.rows)

    def __call__(self, step: int) -> Ints:
        """Row numbers, longest first."""
        epoch, turn = divmod(step, self.steps_per_epoch)
        return self._epoch(epoch)[turn]

    @lru_cache(maxsize=1)  # noqa: B019  (one object lives as long as the training)
    def _epoch(self, epoch: int) -> list[Ints]:
        draw = random(self.seed, ORDER, epoch)
        if self.kinds is not None:
            return self._epoch_of_kinds(draw)
        shuffled = draw.permutation(len(self.lengths))
        stretch = SORTED_TOGETHER * self.rows
        parts = [shuffled[at : at + stretch] for at in range(0, len(shuffled), stretch)]
        alike = np.concatenate([part[np.argsort(-self.lengths[part], kind="stable")] for part in parts])
        steps = [alike[at : at + self.rows] for at in range(0, len(alike), self.rows)]
        return [steps[n] for n in draw.permutation(len(steps))]

    def _epoch_of_kinds(self, draw: np.random.Generator) -> list[Ints]:
        """As many steps of each kind; a kind with too few rows has smaller steps."""
        assert self.kinds is not None
        steps: list[Ints] = []
        for kind in np.unique(self.kinds):
            chosen = draw.permutation(np.flatnonzero(self.kinds == kind))[: self._steps_each * self.rows]
            steps += np.array_split(chosen, self._steps_each)
        sorted_steps = [step[np.argsort(-self.lengths[step], kind="stable")] for step in steps]
        return [sorted_steps[n] for n in draw.permutation(len(sorted_steps))]
