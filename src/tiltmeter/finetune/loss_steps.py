"""The loss of a step and its gradients, in as many pieces as memory asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from tiltmeter.finetune.memory import running_out, smaller
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.row_order import DRAWS, DROPOUT, HELD_OUT, Ints, Order, random
from tiltmeter.finetune.tasks import Drawn, Task
from tiltmeter.models.forward_pass import OutOfMemoryError
from tiltmeter.models.text_batches import pieces

if TYPE_CHECKING:
    import torch

R = TypeVar("R")
Part = tuple[Ints, Drawn]


class Steps:
    """Every random number of a step comes from the seed and the step's number, dropout's too."""

    def __init__(self, module: Any, recipe: Recipe) -> None:
        self.module, self.recipe = module, recipe
        self.device: torch.device = next(module.parameters()).device
        self.budget = recipe.piece_tokens

    def gradients(self, task: Task, rows: Ints, step: int) -> torch.Tensor:
        """The mean loss of a whole step; its gradients are in the weights afterwards."""
        self.module.train()
        drawn = task.draw(rows, random(self.recipe.seed, DRAWS, step))
        return self._fitting(task, rows, lambda: self._gradients(task, rows, drawn, step))

    def _gradients(self, task: Task, rows: Ints, drawn: Drawn, step: int) -> torch.Tensor:
        """Piece by piece, each weighing what it has: the same as of the whole, however it is cut."""
        import torch

        self.module.zero_grad(set_to_none=True)  # of a try that did not fit
        torch.manual_seed(int(random(self.recipe.seed, DROPOUT, step).integers(2**63)))
        cut = self._cut(task, rows, drawn)
        weights = [task.weight(*part) for part in cut]
        total = torch.zeros((), device=self.device)
        for part, weight in zip(cut, weights, strict=True):
            if weight:
                with self._precision():
                    loss = task.loss(*part) * (weight / sum(weights))
                torch.autograd.backward(loss)
                total += loss.detach()
        return total

    def mean_loss(self, task: Task) -> float:
        """Mean loss of all rows, without dropout, and with the same random draws in every call."""
        import torch

        self.module.eval()
        order = Order(task.lengths, self.recipe.rows, self.recipe.seed)
        sums = [0.0, 0.0]
        with torch.no_grad():
            for step in range(order.steps_per_epoch):
                rows = order(step)
                drawn = task.draw(rows, random(self.recipe.seed, HELD_OUT, step))
                for n, some in enumerate(self._fitting(task, rows, lambda: self._loss(task, rows, drawn))):  # noqa: B023
                    sums[n] += some
        return sums[0] / sums[1] if sums[1] else math.nan

    def _loss(self, task: Task, rows: Ints, drawn: Drawn) -> tuple[float, float]:
        """The sum, and what it weighs."""
        total = weights = 0.0
        for part in self._cut(task, rows, drawn):
            if weight := task.weight(*part):
                with self._precision():
                    total += weight * float(task.loss(*part))
                weights += weight
        return total, weights

    def _fitting(self, task: Task, rows: Ints, compute: Callable[[], R]) -> R:
        """Tries again with half of the tokens at once, when they do not fit."""
        while True:
            try:
                with running_out():
                    return compute()
            except OutOfMemoryError:
                shortest, longest = int(task.lengths[rows].min()), int(task.lengths[rows].max())
                self.budget = smaller(min(self.budget, longest * len(rows)), shortest, longest)

    def _cut(self, task: Task, rows: Ints, drawn: Drawn) -> list[Part]:
        self.budget = self.budget or task.piece_tokens(self.device.type)
        cuts = pieces(task.lengths[rows], self.budget)
        return [(rows[cut], {name: array[cut] for name, array in drawn.items()}) for cut in cuts]

    def _precision(self) -> AbstractContextManager[Any]:
        """bfloat16 on a GPU, where weights and sums stay in float32; elsewhere as the weights are."""
        import torch

        return torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext()
