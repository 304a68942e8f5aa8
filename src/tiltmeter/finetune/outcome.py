"""Results of a training: its progress, its outcome, and the error for one that diverged."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import TiltmeterError

Watch = Callable[[str, int], AbstractContextManager[Callable[..., None]]]
"""(title, total) → a context manager whose function is called with how much more is done and, if it takes two, a note."""


class DivergedError(TiltmeterError):
    """The loss, or its gradient, is not a number. The model has the weights of `last_good` again, where there is one."""

    def __init__(self, step: int, last_good: int | None) -> None:
        super().__init__(
            f"The loss is not a number at step {step}: give a lower rate (--rate) or a longer --warmup.",
            code="training-diverged",
            step=step,
            last_good=last_good,
        )
        self.step, self.last_good = step, last_good


@dataclass(frozen=True)
class Trained:
    """How a training went: one row for each step, what the held-out rows cost at which step, and how it ended."""

    steps: int
    curve: list[dict[str, Any]]
    held_out: list[tuple[int, float]]
    stopped: str
    """budget: all steps were made; early: the held-out loss no longer fell."""
    weights_of_step: int
    """Whose weights the model now has: the last step's, or the best one's."""
    seconds: float
    device: str

    @property
    def tokens(self) -> int:
        """Seen, padding not counted."""
        return sum(row["tokens"] for row in self.curve)

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        losses = [row["loss"] for row in self.curve]
        return {
            "steps": self.steps,
            "stopped": self.stopped,
            "weights_of_step": self.weights_of_step,
            "first_loss": losses[0] if losses else None,
            "last_loss": losses[-1] if losses else None,
            "held_out": [{"step": step, "loss": loss} for step, loss in self.held_out],
            "tokens": self.tokens,
            "seconds": round(self.seconds, 1),
            "device": self.device,
        }


def two_words(advance: Callable[..., None]) -> Callable[[float, str], None]:
    """A function of (how much, note) from one that may take the first alone."""
    try:
        takes_note = len(inspect.signature(advance).parameters) > 1
    except (TypeError, ValueError):  # a function written in C has no signature
        takes_note = False

    def report(much: float, note: str) -> None:
        if takes_note:
            advance(much, note)
        else:
            advance(much)

    return report
