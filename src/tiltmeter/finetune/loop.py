"""The loop: steps from first to last, a checkpoint now and then, and an end that is one of a few, each with its name."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import UsageError
from tiltmeter.finetune import checkpoint
from tiltmeter.finetune.best_checkpoint import Best
from tiltmeter.finetune.loss_steps import Steps
from tiltmeter.finetune.memory import no_room_is_the_end
from tiltmeter.finetune.optimizers import learning_rate, make_adamw, set_rate
from tiltmeter.finetune.outcome import DivergedError, Trained, Watch, two_words
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.row_order import Order
from tiltmeter.finetune.signals import stopping
from tiltmeter.finetune.tasks import Task

if TYPE_CHECKING:
    import torch

PARTS = ("made_from", "step", "seconds", "weights", "optimizer", "best")
BETAS = (0.9, 0.999)
LOOK_EVERY = 10
"""Steps between looks at the loss: a GPU need not wait at every one. No step is saved before it was looked at."""


@dataclass
class Loop:
    """One training. `work` is a folder for checkpoint and log; without one, nothing survives an interruption."""

    module: Any
    task: Task
    recipe: Recipe
    work: Path | None = None
    held_out: Task | None = None
    made_from: Mapping[str, Any] = field(default_factory=dict)
    checkpoint_seconds: float = 60.0
    title: str = "training"

    def __post_init__(self) -> None:
        if not len(self.task.lengths):
            raise UsageError(
                "There are no rows to train on. Give a text with at least one line.", code="empty-selection", kind="rows"
            )
        self.computed = Steps(self.module, self.recipe)
        self.order = Order(self.task.lengths, self.recipe.rows, self.recipe.seed)
        self.steps = self.recipe.n_steps(len(self.task.lengths))
        self.learning = {name: one for name, one in self.module.named_parameters() if one.requires_grad}
        self.optimizer = make_adamw([*self.learning.values()], self.recipe, BETAS)
        self.best = Best(self.recipe, self.steps, self.learning, self.work)
        self.step, self.seconds = 0, 0.0
        self.curve: list[dict[str, Any]] = []
        self._unseen: list[tuple[int, torch.Tensor, torch.Tensor]] = []
        self._logged = 0

    def run(self, watch: Watch | None = None) -> Trained:
        """Train to the end. On an interrupt, save a checkpoint and raise KeyboardInterrupt."""
        import torch

        with torch.random.fork_rng(), stopping() as stopped:
            self._resume()
            with watch(self.title, self.steps) if watch else nullcontext(lambda _: None) as advance:
                self._run(two_words(advance), stopped)
        early = self.step < self.steps
        step = self.best.restore() if self.recipe.patience and self.held_out is not None else self.step
        self.module.eval()
        place = self.computed.device
        device = torch.cuda.get_device_name(place) if place.type == "cuda" else place.type
        ended = "early" if early else "budget"
        return Trained(self.step, self.curve, self.best.looks, ended, step, self.seconds, device)

    def _run(self, advance: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        began = time.perf_counter() - self.seconds  # as if the seconds before an interruption had been just now
        saved = time.perf_counter()
        advance(self.step, "")
        self._look()
        while self.step < self.steps and not self.best.waited_enough:
            self._step()
            now = time.perf_counter()
            self.seconds = now - began
            due, asked = now - saved >= self.checkpoint_seconds, stopped()
            if due or asked or self.step % LOOK_EVERY == 0 or self.step == self.steps or self.best.due(self.step):
                self._see()
            advance(1, f"loss {self.curve[-1]['loss']:.3f}" if self.curve else "")
            self._look()
            if due or asked:
                self._save()
                saved = now
            if asked and self.step < self.steps:
                raise KeyboardInterrupt

    def _step(self) -> None:
        import torch

        rows = self.order(self.step)
        loss = self.computed.gradients(self.task, rows, self.step)
        norm = torch.nn.utils.clip_grad_norm_(self.learning.values(), self.recipe.clip or math.inf)
        set_rate([self.optimizer], learning_rate(self.recipe, self.step, self.steps))
        with no_room_is_the_end("what the optimizer remembers of each weight"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self._unseen.append((int(self.task.lengths[rows].sum()), loss, norm.detach()))

    def _see(self) -> None:
        """Fetches the losses since the last look. One that is no number ends the training."""
        first = self.step - len(self._unseen)
        for n, (tokens, loss, norm) in enumerate(self._unseen, first):
            row = {"step": n + 1, "loss": float(loss), "norm": float(norm), "tokens": tokens}
            if not math.isfinite(row["loss"] + row["norm"]):
                raise DivergedError(n + 1, self._last_good())
            rate = learning_rate(self.recipe, n, self.steps)
            self.curve.append(row | {"rate": rate, "seconds": round(self.seconds, 3)})
        self._unseen = []

    def _look(self) -> None:
        if self.held_out is not None and self.best.due(self.step):
            loss = self.computed.mean_loss(self.held_out)
            if not math.isfinite(loss):
                raise DivergedError(self.step, self._last_good())
            self.best.look(self.step, loss)

    def _save(self) -> None:
        if self.work is None:
            return
        self.work.mkdir(parents=True, exist_ok=True)
        checkpoint.log(self.work, *self.curve[self._logged :])
        self._logged = len(self.curve)
        state = {"made_from": dict(self.made_from), "step": self.step, "seconds": self.seconds}
        state |= {"weights": {name: one.detach() for name, one in self.learning.items()}, "best": self.best.state()}
        checkpoint.save(self.work, state | {"optimizer": self.optimizer.state_dict()})

    def _resume(self) -> None:
        if self.work is None or not self.work.is_dir():
            return
        state = checkpoint.load(self.work, str(self.computed.device), self.made_from, PARTS)
        if state is None:
            return
        put(state["weights"], self.learning)
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        self.best.take(state["best"])
        self.curve = checkpoint.read_log(self.work)
        self._logged = len(self.curve)

    def _last_good(self) -> int | None:
        """Puts the weights of the last checkpoint back; its step, if there is one."""
        path = self.work and self.work / checkpoint.CHECKPOINT
        if not self.work or not path or not path.is_file():
            return None
        state = checkpoint.load(self.work, str(self.computed.device), self.made_from, PARTS)
        assert state is not None
        put(state["weights"], self.learning)
        return int(state["step"])


def put(stored: Mapping[str, torch.Tensor], learning: Mapping[str, torch.Tensor]) -> None:
    """Stored weights into a model."""
    import torch

    with torch.no_grad():
        for name, one in learning.items():
            one.copy_(stored[name])
