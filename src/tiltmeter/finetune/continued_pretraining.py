"""A model goes on learning from lines of text, as its own objective has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.folder_training import Made, train_and_save
from tiltmeter.finetune.loading import check_trainable, load_trainable
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.tasks import Causal, Masked, Task
from tiltmeter.finetune.text import encode, read_text
from tiltmeter.models import Parts

KINDS = ("masked", "causal")


def continue_training(
    model: str | Path,
    text: str | Path,
    recipe: Recipe,
    *,
    output: Path,
    method: str = "text",
    options: Mapping[str, Any] | None = None,
    length: int = 128,
    device: str = "auto",
) -> Path:
    """Trains a model on a text with one recipe and writes a new folder, with a manifest that says what it learned from.

    `method` is what the manifest calls it; `options` are facts of the caller's. No line is held out.
    """
    folder, read = check_output(output), read_text(text)
    check_trainable(model, method)
    parts = load_trainable(model, recipe, method=method, kinds=KINDS, device=device)
    task = make_task(parts, read.lines, length)
    if not len(task.lengths):
        raise InputError(
            f"{read.source}: there is no line to learn from. Give a text with at least one line that is not held out.",
            code="empty-file",
            file=read.source,
        )
    made = Made(method, options={"length": length, **(options or {})}, data=read.facts())
    return train_and_save(parts, task, recipe, folder, made)


def make_task(parts: Parts, lines: Sequence[str], length: int) -> Task:
    """The objective that the model was trained with."""
    causal = parts.kind == "causal"
    rows: list[list[int]] = encode(lines, parts.module, parts.tokenizer, causal=causal, length=length)
    make: Any = Causal if causal else Masked
    task: Task = make(parts.module, rows, parts.tokenizer)
    return task
