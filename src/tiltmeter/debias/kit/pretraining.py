"""Continued pre-training: a masked or causal model goes on learning from lines of text, as its own objective has it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

from tiltmeter.debias.kit.options import (
    CheckpointEvery,
    Device,
    HeldOut,
    Length,
    Lines,
    Lora,
    Packed,
    Patience,
    Rate,
    Rows,
    Seed,
    Steps,
    TextFile,
    Warmup,
)
from tiltmeter.errors import InputError, UsageError
from tiltmeter.finetune import Made, Recipe, Text, Watch, read_text, split, train_and_save
from tiltmeter.finetune.continued_pretraining import make_task
from tiltmeter.finetune.loading import device_of
from tiltmeter.models import Parts

PUBLISHED = {"steps": 2000, "rows": 512, "length": 512}
"""bias-bench (Meade et al., 2022): 32 rows × 16 pieces, on a tenth of Wikipedia."""
SMALL = {"steps": 100, "rows": 32, "length": 128}
"""For a CPU, or for the embedded text: minutes on two cores."""
LOOKS = 20
"""How often the held-out lines are looked at, where patience asks for it."""
OURS = "plain_text.txt"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The text, a budget and what goes with it. What is None is as published, or small (`Plan.settled`)."""

    text: TextFile = None
    lines: Lines = None
    steps: Steps = None
    rows: Rows = None
    length: Length = None
    packed: Packed = False
    rate: Rate = 5e-5
    warmup: Warmup = 0.0
    held_out: HeldOut = 0.05
    patience: Patience = 0
    lora: Lora = 0
    seed: Seed = 0
    device: Device = "auto"
    checkpoint_every: CheckpointEvery = 60.0

    def settled(self) -> tuple[Recipe, int]:
        """The recipe, and the longest row: as published with a GPU and a text of one's own."""
        large = self.text is not None and device_of(self.device) != "cpu"
        given = {"steps": self.steps, "rows": self.rows, "length": self.length}
        budget = (PUBLISHED if large else SMALL) | {name: value for name, value in given.items() if value is not None}
        if budget["steps"] < 1 or budget["length"] < 1:
            raise UsageError(
                "--steps and --length must be at least 1.",
                code="out-of-range", name="steps, length", value=[budget["steps"], budget["length"]],
            )  # fmt: skip
        every = max(1, budget["steps"] // LOOKS) if self.patience else 0
        recipe = Recipe(
            steps=budget["steps"],
            rows=budget["rows"],
            peak_rate=self.rate,
            warmup=self.warmup,
            seed=self.seed,
            evaluate_every=every,
            patience=self.patience,
            lora_rank=self.lora,
        )
        return recipe, budget["length"]


def with_training(method: Callable[..., Path]) -> Callable[..., Path]:
    """Give a method the options of continued pre-training, which it takes as one `plan`."""
    training = [one.name for one in fields(Plan)]

    @wraps(method)
    def with_plan(model: str | Path, **options: Any) -> Path:
        stated = {name: options.pop(name) for name in training if name in options}
        return method(model, plan=Plan(**stated), **options)

    model, output, _, *own, watch = inspect.signature(method).parameters.values()
    text, *rest = inspect.signature(Plan).parameters.values()
    hints = get_type_hints(Plan, include_extras=True) | get_type_hints(method, include_extras=True)
    shown = [one.replace(annotation=hints[one.name]) for one in (model, output, text, *own, *rest, watch)]
    vars(with_plan)["__signature__"] = inspect.Signature(shown, return_annotation=Path)
    with_plan.__annotations__ = {one.name: one.annotation for one in shown}
    return with_plan


def text_of(path: Path | None, lines: int | None = None) -> Text:
    """The user's text, or our own."""
    if path is not None:
        return read_text(path, lines)
    found = (files("tiltmeter.debias") / "data" / OURS).read_text("utf-8").splitlines()
    return Text(f"embedded: {OURS}", found[:lines])


def continue_pretraining(
    parts: Parts,
    text: Text,
    plan: Plan,
    settled: tuple[Recipe, int],
    output: Path,
    made: Made,
    *,
    change: Callable[[Sequence[str]], Sequence[str]] = lambda lines: lines,
    watch: Watch | None = None,
) -> Path:
    """Train on the lines as `change` makes them, after some are held out, so that a line and its copies stay together."""
    recipe, length = settled
    learned, held = split(text.lines, plan.held_out)
    if recipe.patience and not held:
        raise UsageError(
            f"--patience needs held-out lines, and none of {text.source} is held out. Raise --held-out.",
            code="inapplicable-option", option="--patience", source=str(text.source),
        )  # fmt: skip
    task = make_task(parts, change(learned), length, packed=plan.packed)
    if not len(task.lengths):
        raise InputError(f"{text.source} has no line to train on.", code="empty-file", file=str(text.source))
    looked = make_task(parts, change(held), length, packed=plan.packed) if held else None
    held_out = looked if looked is not None and len(looked.lengths) else None
    return train_and_save(
        parts,
        task,
        recipe,
        output,
        made,
        held_out=held_out,
        watch=watch,
        checkpoint_seconds=plan.checkpoint_every,
    )
