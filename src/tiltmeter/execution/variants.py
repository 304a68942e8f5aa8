"""Variants of an experiment's models: made once, by whoever needs one first, and kept in OUTPUT/models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter import debias
from tiltmeter.errors import TiltmeterError
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
"""In the folder of a variant: what the experiment asked for when it was made."""


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
            write_json(folder / ASKED, _told(experiment, model))
        _check_same(experiment, model, folder)
        if experiment.shared:
            depot.put(folder, f"models/{model.name}")
    return folder


def make(variant: Variant, source: str, folder: Path, device: str) -> Path:
    """A new model folder from the parent's."""
    if variant.method != GIVEN or variant.dose is None:
        return debias.make(variant.method, source, output=folder, seed=variant.seed, **variant.options)
    told = {"domain": variant.dose.domain, "dose": variant.dose.dose, "arm": variant.dose.arm}
    recipe, length = recipe_of(variant.options, variant.seed)
    return continue_training(
        source, variant.dose.text, recipe, output=folder, method=GIVEN, options=told, length=length, device=device
    )


def _told(experiment: Experiment, model: ExperimentModel) -> dict[str, Any]:
    """How a model is made, its parents too, in terms that another machine would use; None is what cannot be told here."""
    if model.variant is None:
        return {"model": describe_model(model)}
    text = at_home(str(model.variant.options.get("text", "")))
    told = {"model": describe_model(model), "text": file_sha256(text) if text.is_file() else None}
    return told | {"of": _told(experiment, experiment.model(model.variant.of))}


def _check_same(experiment: Experiment, model: ExperimentModel, folder: Path) -> None:
    """Refuses a model of an earlier experiment under the same name that was made otherwise."""
    assert model.variant is not None
    now, asked = _told(experiment, model), read_json(folder / ASKED) if (folder / ASKED).is_file() else None
    if model.variant.dose is not None:  # its manifest has every step; the same may have been asked in other words
        same = _agrees(model.variant, folder) and (
            asked is None or is_same(asked["model"]["weights"], now["model"]["weights"])
        )
    else:
        same = _agrees(model.variant, folder) if asked is None else is_same(asked, now)
    if not same:
        raise TiltmeterError(
            f"{folder} was made from another text or model, or by other steps or options: delete it, or give another output."
        )


def _agrees(variant: Variant, folder: Path) -> bool:
    """Whether the manifest of a model is of what is wanted. Of a dose it has everything.

    Of a method's options it may lack some, and it does not say which were given. It is asked only for models of earlier
    versions, which kept no record of what the experiment had asked for.
    """
    told = read_json(folder / MANIFEST) if variant.dose or (folder / MANIFEST).is_file() else {}
    recipe, data = told.get("recipe", {}), told.get("data", {})
    if variant.dose is not None:
        wanted, length = recipe_of(variant.options, variant.seed)
        there = data["sha256"], recipe, told["options"]["length"]
        return bool(there == (read_text(variant.dose.text).sha256, wanted.facts(), length))
    known = {**told.get("options", {}), **recipe, "rate": recipe.get("peak_rate"), "lora": recipe.get("lora_rank")}
    given = {**variant.options, "seed": variant.seed}
    numbers = [name for name, value in given.items() if fits(float, value) and fits(float, known.get(name))]
    alike = told.get("method", variant.method) == variant.method and all(given[name] == known[name] for name in numbers)
    text = at_home(str(variant.options.get("text", "")))
    if "sha256" in data and text.is_file():  # another machine may have made it
        alike = alike and read_text(text, variant.options.get("lines")).sha256 == data["sha256"]
    return bool(alike)


def recipe_of(given: Mapping[str, Any], seed: int) -> tuple[Recipe, int]:
    """The same number of steps for every dose, and the longest row."""
    how = Training(**given)
    if how.steps < 1 or how.length < 1:
        raise TiltmeterError("Steps and length are numbers from 1 on.")
    recipe = Recipe(steps=how.steps, rows=how.rows, peak_rate=how.rate, warmup=how.warmup, seed=seed)
    return recipe, how.length
