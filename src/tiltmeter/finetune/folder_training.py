"""From a parent model and a task to a finished folder, and what is left when that fails."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.finetune.export import Files, check_output, parent_facts, save_model
from tiltmeter.finetune.loop import Loop
from tiltmeter.finetune.lora import merged, with_lora
from tiltmeter.finetune.outcome import DivergedError, Trained, Watch
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.tasks import Task
from tiltmeter.models import Parts

LAST_GOOD = "last-good"


@dataclass(frozen=True)
class Made:
    """Provenance of a model, for its manifest: the method, its options, its data."""

    method: str
    citation: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further facts, which do not change the model."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Values in the saved configuration of settings that differed during training."""
    files: Files = field(default_factory=dict)
    """JSON files that belong beside the manifest."""

    def manifest(self, parts: Parts, recipe: Recipe | None = None, trained: Trained | None = None) -> dict[str, Any]:
        """Everything needed to make it again."""
        facts: dict[str, Any] = {"method": self.method, "citation": self.citation, "parent": parent_facts(parts)}
        facts |= {"data": dict(self.data), "options": dict(self.options)}
        if recipe is not None:
            facts |= {"seed": recipe.seed, "recipe": recipe.facts()}
        return facts | ({"training": trained.facts()} if trained else {}) | dict(self.more)

    def made_from(self, parts: Parts, recipe: Recipe) -> dict[str, Any]:
        """Facts that a checkpoint must share to be continued."""
        parent = parts.facts.get("weights_sha256")
        options = {name: str(value) for name, value in self.options.items()}
        return {"method": self.method, "model": parent, "text": self.data.get("sha256"), "recipe": recipe.digest()} | {
            "options": options
        }


def unfinished(output: Path) -> Path:
    """Folder of an unfinished training; the same command continues it."""
    return output.with_name(f"{output.name}.unfinished")


@dataclass(frozen=True)
class Finished:
    """A trained model in memory, with the manifest that says how it was made."""

    parts: Parts
    manifest: dict[str, Any]
    curve: list[dict[str, Any]]
    files: Files

    def save(self, output: Path, files: Files | None = None) -> Path:
        """Write the folder, with more files beside the manifest, and remove the checkpoints."""
        save_model(self.parts, output, self.manifest, self.curve, {**self.files, **(files or {})})
        shutil.rmtree(unfinished(output), ignore_errors=True)
        return output


def train(
    parts: Parts,
    task: Task,
    recipe: Recipe,
    made: Made,
    *,
    work: Path | None = None,
    held_out: Task | None = None,
    watch: Watch | None = None,
    checkpoint_seconds: float = 60.0,
) -> Finished:
    """Train the parent's module on the task; a task holds the module, into which adapters are put.

    Checkpoints go to `work`; without it, nothing survives an interruption.
    """
    adapters = with_lora(parts.module, recipe)
    made_from = made.made_from(parts, recipe)
    loop = Loop(parts.module, task, recipe, work, held_out, made_from, checkpoint_seconds, made.method)
    try:
        trained = loop.run(watch)
    except DivergedError as error:
        raise ModelError(
            f"{error} {_kept(error, parts, adapters, work, made, recipe)}",
            code="training-diverged",
            step=error.step,
            last_good=error.last_good,
        ) from None
    manifest = made.manifest(parts, recipe, trained)
    return Finished(_finished(parts, adapters, made), manifest, trained.curve, made.files)


def train_and_save(
    parts: Parts,
    task: Task,
    recipe: Recipe,
    output: Path,
    made: Made,
    *,
    held_out: Task | None = None,
    watch: Watch | None = None,
    checkpoint_seconds: float = 60.0,
) -> Path:
    """Train and write the folder; an interrupted training continues where it was."""
    check_output(output)
    how: dict[str, Any] = {"held_out": held_out, "watch": watch, "checkpoint_seconds": checkpoint_seconds}
    return train(parts, task, recipe, made, work=unfinished(output), **how).save(output)


def _finished(parts: Parts, adapters: Any, made: Made) -> Parts:
    """As it is saved: adapters merged, and with the configuration of before."""
    module = merged(parts.module, adapters)
    for name, value in made.config.items():
        setattr(module.config, name, value)
    return replace(parts, module=module)


def _kept(error: DivergedError, parts: Parts, adapters: Any, work: Path | None, made: Made, recipe: Recipe) -> str:
    """The last good checkpoint as a model that can be used, and a sentence that says where it is."""
    if work is None or error.last_good is None:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
        return "There was no checkpoint, so nothing was saved."
    place = work / LAST_GOOD
    shutil.rmtree(place, ignore_errors=True)
    more = {"unfinished": {"step": error.last_good, "reason": str(error)}}
    save_model(_finished(parts, adapters, made), place, made.manifest(parts, recipe) | more)
    return f"The model as it was at step {error.last_good}, the last good checkpoint, is in {place}."
