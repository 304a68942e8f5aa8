"""Variants of an experiment's models: made once, by whoever needs one first, and kept in OUTPUT/models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter import catalog, debias
from tiltmeter.errors import RunError, UsageError
from tiltmeter.execution.experiment_file import Experiment
from tiltmeter.execution.experiment_models import GIVEN, ExperimentModel, Training, Variant
from tiltmeter.execution.key import describe_model, is_same
from tiltmeter.finetune.continued_pretraining import continue_training
from tiltmeter.finetune.export import MANIFEST
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.text import read_text
from tiltmeter.storage.files import file_sha256, read_json, write_json
from tiltmeter.storage.locks import lock_folder
from tiltmeter.storage.object_store import Depot
from tiltmeter.storage.places import at_home
from tiltmeter.storage.typed_values import fits

ASKED = "variant.json"
"""File in the folder of a variant with the recipe that the experiment stated."""


def folder_of_variant(experiment: Experiment, model: ExperimentModel, depot: Depot) -> Path:
    """The folder of a variant. Making it is resumable; what another machine made is fetched; its parent is made first."""
    assert model.variant is not None
    folder = experiment.output / "models" / model.name
    parent = experiment.model(model.variant.of)
    source = str(folder_of_variant(experiment, parent, depot)) if parent.variant else model.source
    folder.parent.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, wait=True):  # of several workers that need a model, one makes it and the others wait
        if not folder.is_dir() and experiment.shared and depot.has(f"models/{model.name}"):
            depot.get(f"models/{model.name}", folder)
        if not folder.is_dir():
            make(model.variant, source, folder, str(experiment.run_options().device))
            write_json(folder / ASKED, _recipe(experiment, model))
        _check_same(experiment, model, folder)
        if experiment.shared:
            depot.put(folder, f"models/{model.name}")
    return folder


def make(variant: Variant, source: str, folder: Path, device: str) -> Path:
    """A new model folder from the parent's."""
    if variant.method != GIVEN or variant.dose is None:
        has_seed = "seed" in catalog.find("debias", variant.method).parameters  # Self-Debias draws nothing
        seed: dict[str, Any] = {"seed": variant.seed} if has_seed else {}
        return debias.make(variant.method, source, output=folder, **seed, **variant.options)
    options = {"domain": variant.dose.domain, "dose": variant.dose.dose, "arm": variant.dose.arm}
    recipe, length = recipe_of(variant.options, variant.seed)
    return continue_training(
        source, variant.dose.text, recipe, output=folder, method=GIVEN, options=options, length=length, device=device
    )


def _recipe(experiment: Experiment, model: ExperimentModel) -> dict[str, Any]:
    """Recipe of a model and its parents, independent of the machine; None for facts that are not available here."""
    if model.variant is None:
        return {"model": describe_model(model)}
    text = at_home(str(model.variant.options.get("text", "")))
    recipe = {"model": describe_model(model), "text": file_sha256(text) if text.is_file() else None}
    return recipe | {"of": _recipe(experiment, experiment.model(model.variant.of))}


def _check_same(experiment: Experiment, model: ExperimentModel, folder: Path) -> None:
    """Raise an error for a stored model of the same name with another recipe."""
    assert model.variant is not None
    now, stored = _recipe(experiment, model), read_json(folder / ASKED) if (folder / ASKED).is_file() else None
    if model.variant.dose is not None:  # its manifest has every step; the same recipe may be spelled differently
        same = _agrees(model.variant, folder) and (
            stored is None or is_same(stored["model"]["weights"], now["model"]["weights"])
        )
    else:
        same = _agrees(model.variant, folder) if stored is None else is_same(stored, now)
    if not same:
        raise RunError(
            f"{folder} was made from another text or model, or with other options. Delete it, or name another output.",
            code="output-exists",
            folder=folder,
            model=model.name,
        )


def _agrees(variant: Variant, folder: Path) -> bool:
    """Return True if the manifest of a model agrees with a variant.

    The manifest of a dose is complete. That of another method may lack options; it decides only for models of earlier
    versions, which stored no recipe.
    """
    manifest = read_json(folder / MANIFEST) if variant.dose or (folder / MANIFEST).is_file() else {}
    recipe, data = manifest.get("recipe", {}), manifest.get("data", {})
    if variant.dose is not None:
        wanted, length = recipe_of(variant.options, variant.seed)
        there = data["sha256"], recipe, manifest["options"]["length"]
        return bool(there == (read_text(variant.dose.text).sha256, wanted.facts(), length))
    stored = {**manifest.get("options", {}), **recipe, "rate": recipe.get("peak_rate"), "lora": recipe.get("lora_rank")}
    wanted_options = {**variant.options, "seed": variant.seed}
    numbers = [name for name, value in wanted_options.items() if fits(float, value) and fits(float, stored.get(name))]
    alike = manifest.get("method", variant.method) == variant.method and all(
        wanted_options[name] == stored[name] for name in numbers
    )
    text = at_home(str(variant.options.get("text", "")))
    if "sha256" in data and text.is_file():  # another machine may have made it
        alike = alike and read_text(text, variant.options.get("lines")).sha256 == data["sha256"]
    return bool(alike)


def recipe_of(options: Mapping[str, Any], seed: int) -> tuple[Recipe, int]:
    """Recipe and row length of a dose; the number of steps is equal for all doses."""
    training = Training(**options)
    if training.steps < 1 or training.length < 1:
        raise UsageError(
            "The steps and the length of a dose must be at least 1.",
            code="out-of-range",
            name="steps" if training.steps < 1 else "length",
            low=1,
        )
    recipe = Recipe(
        steps=training.steps,
        rows=training.rows,
        peak_rate=training.rate,
        warmup=training.warmup,
        seed=seed,
        lora_rank=training.lora,
    )
    return recipe, training.length
