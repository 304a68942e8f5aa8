"""The training loop: one recipe, one text, one folder. Interrupted, the same command goes on from the last checkpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tiltmeter.errors import TiltmeterError
from tiltmeter.finetune import checkpoint
from tiltmeter.finetune.optimizers import learning_rate, set_rate
from tiltmeter.finetune.signals import stopping
from training.architectures import loss_function, make_model
from training.batches import Batches
from training.evaluate import evaluate
from training.optimizers import make_optimizers
from training.prepare import Show, prepare
from training.recipe import Recipe

LOG_EVERY = 50
PARTS = ("made_from", "step", "steps", "seconds", "model", "optimizers")  # of a checkpoint
WARM_STEPS, TIMED_STEPS = 10, 50  # a budget in minutes is turned into steps after these
Advance = Callable[[int, int, float], None]
LossOf = Callable[[dict[str, torch.Tensor]], torch.Tensor]


@dataclass
class Trainer:
    """What one training holds. `folder` receives the tokenizer, the encoded text, the log and the checkpoint."""

    recipe: Recipe
    text: Sequence[Path]
    folder: Path
    device: str
    show: Show = print
    advance: Advance = lambda step, steps, loss: None
    checkpoint_seconds: float = 60.0
    tokenizer_from: Path | None = None

    def prepare(self) -> None:
        """Tokenizer, encoded text, model and optimizers; what is already in the folder is used."""
        self.folder.mkdir(parents=True, exist_ok=True)
        prepared = prepare(self.folder, self.text, self.recipe, self.tokenizer_from, self.show)
        self.tokenizer, self.held_out, self.made_from = prepared.tokenizer, prepared.held_out, prepared.made_from
        self.batches = Batches(prepared.text, self.tokenizer, self.recipe, self.device)
        self.model = make_model(self.recipe, self.tokenizer).to(self.device)
        self.optimizers = make_optimizers(self.model, self.recipe)
        self.step, self.steps, self.seconds = 0, self.recipe.steps, 0.0
        self._resume()

    def _resume(self) -> None:
        state = checkpoint.load(self.folder, self.device, self.made_from, PARTS)
        if state is None:
            return
        self.model.load_state_dict(state["model"])
        for optimizer, stored in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(stored)
        self.step, self.steps, self.seconds = state["step"], state["steps"], state["seconds"]
        self.show(f"going on from step {self.step:,}")

    @property
    def finished(self) -> bool:
        """Whether the budget is used up; that of a budget in minutes is not known at first."""
        return self.step >= self.steps > 0

    def train(self, stop_after: float | None = None) -> bool:
        """Whether the budget is used up; False when it stopped early (asked to, or by Ctrl-C), with a checkpoint."""
        loss_of = self._loss_function()
        self._first, started = self.step, time.perf_counter()
        self._began = started - self.seconds  # as if the seconds before an interruption had been just now
        saved = started
        self.model.train()
        with stopping() as stopped:
            while not self.finished:
                loss = self._step(loss_of)
                self._fit_budget()
                if self.step % LOG_EVERY == 0 or self.finished:
                    self._log(float(loss))
                now = time.perf_counter()
                if stopped() or (stop_after is not None and now - started > stop_after):
                    break
                if now - saved > self.checkpoint_seconds:
                    self._save()
                    saved = now
        self._save()
        return self.finished

    def _loss_function(self) -> LossOf:
        loss_of = loss_function(self.model, self.recipe.architecture)
        if self.device != "cuda":
            return loss_of
        torch.set_float32_matmul_precision("high")
        return torch.compile(loss_of)

    def _step(self, loss_of: LossOf) -> torch.Tensor:
        set_rate(self.optimizers, learning_rate(self.recipe, self.step, self.steps))
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            loss = loss_of(self.batches(self.step))
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.detach()

    def _fit_budget(self) -> None:
        """A budget in minutes becomes steps: the first ones compile and warm up, the next ones are timed."""
        done = self.step - self._first
        if self.steps or done not in (WARM_STEPS, WARM_STEPS + TIMED_STEPS):
            return
        if self.device == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        if done == WARM_STEPS:
            self._timed_from = now
        else:
            left = 60 * self.recipe.minutes - (now - self._began)
            self.steps = self.step + max(1, int(left * TIMED_STEPS / (now - self._timed_from)))

    def _log(self, loss: float) -> None:
        """`rate` is that of the next step."""
        self.seconds = time.perf_counter() - self._began
        row = {"step": self.step, "steps": self.steps, "tokens": self.step * self.recipe.step_tokens, "loss": loss}
        rate = learning_rate(self.recipe, self.step, self.steps)
        checkpoint.log(self.folder, row | {"rate": rate, "seconds": round(self.seconds, 2)})
        if math.isnan(loss):
            message = f"The loss is not a number at step {self.step}: lower peak_rate, and give another --out."
            raise TiltmeterError(message, code="training-diverged", step=self.step)
        self.advance(self.step, self.steps, loss)

    def _save(self) -> None:
        self.seconds = time.perf_counter() - self._began
        state = {"made_from": self.made_from, "step": self.step, "steps": self.steps, "seconds": self.seconds}
        optimizers = [optimizer.state_dict() for optimizer in self.optimizers]
        checkpoint.save(self.folder, state | {"model": self.model.state_dict(), "optimizers": optimizers})

    def evaluate(self) -> dict[str, float]:
        """On the held-out lines."""
        self.model.eval()
        return evaluate(self.model, self.tokenizer, self.recipe, self.held_out)

    def facts(self) -> dict[str, Any]:
        """For the card."""
        return {
            "recipe": asdict(self.recipe),
            "steps": self.step,
            "tokens_seen": self.step * self.recipe.step_tokens,
            "tokens_of_text": len(self.batches.stream),
            "seconds": round(self.seconds, 1),
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu",
            "torch": torch.__version__,
        }
