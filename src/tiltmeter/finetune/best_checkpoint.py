"""Early stopping: the held-out loss during training, and the weights with the lowest one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.finetune import checkpoint
from tiltmeter.finetune.recipe import Recipe

if TYPE_CHECKING:
    import torch

FILE = "best.pt"


class Best:
    """Looks at the first step, the last, and every so many between. With patience, the best weights are kept.

    What the model cost before its first step is known, and never the best: a training that only made things worse gives
    the least bad of its own weights, and the manifest says both numbers.
    """

    def __init__(self, recipe: Recipe, steps: int, learning: Mapping[str, torch.Tensor], work: Path | None) -> None:
        self.recipe, self.steps, self.learning, self.work = recipe, steps, learning, work
        self.looks: list[tuple[int, float]] = []
        self.waited, self.step = 0, 0
        self._kept: dict[str, torch.Tensor] = {}

    def due(self, step: int) -> bool:
        """Return True if the held-out loss of this step is to be computed."""
        every = self.recipe.evaluate_every
        wanted = step in (0, self.steps) or (every > 0 and step % every == 0)
        return wanted and (not self.looks or self.looks[-1][0] < step)

    def look(self, step: int, loss: float) -> None:
        """Takes note of a held-out loss."""
        earlier = [one for at, one in self.looks if at]
        self.looks.append((step, loss))
        if not self.recipe.patience or not step:
            return
        self.waited += 1
        if not earlier or loss < min(earlier):
            self.waited, self.step = 0, step
            self._kept = {name: one.detach().cpu().clone() for name, one in self.learning.items()}

    @property
    def waited_enough(self) -> bool:
        """True if the held-out loss has not fallen for too long."""
        return 0 < self.recipe.patience <= self.waited

    def restore(self) -> int:
        """Puts the best weights into the model; their step."""
        import torch

        with torch.no_grad():
            for name, one in self._kept.items():
                self.learning[name].copy_(one)
        return self.step

    def state(self) -> dict[str, Any]:
        """For a checkpoint, of which the weights are a file of their own that is written when they change."""
        if self.work is not None and self._kept:
            checkpoint.save(self.work, {"step": self.step, "weights": self._kept}, FILE)
        return {"looks": [list(look) for look in self.looks], "waited": self.waited, "step": self.step}

    def take(self, state: Mapping[str, Any]) -> None:
        """From a checkpoint. A killed training may have kept better weights since: it will find them again."""
        import torch

        self.looks = [(int(step), float(loss)) for step, loss in state["looks"]]
        self.waited, self.step = int(state["waited"]), int(state["step"])
        if self.step and self.work is not None:
            kept = torch.load(self.work / FILE, map_location="cpu", weights_only=True)
            self._kept = kept["weights"]
