"""Variants of a study's models: made once, by whoever needs one first, and kept in OUTPUT/models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tiltmeter import debias
from tiltmeter.errors import TiltmeterError
from tiltmeter.finetune.continued import continue_training
from tiltmeter.finetune.export import MANIFEST
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.text import read_text
from tiltmeter.plans.file import StudyFile
from tiltmeter.plans.variants import GIVEN, StudyModel, Training, Variant
from tiltmeter.storage.depot import Depot
from tiltmeter.storage.files import read_json


def folder_of_variant(study: StudyFile, model: StudyModel, depot: Depot) -> Path:
    """The folder of a variant. Making it is resumable; what another machine made is fetched; its parent is made first."""
    assert model.variant is not None
    folder = study.output / "models" / model.name
    parent = study.model(model.variant.of)
    source = str(folder_of_variant(study, parent, depot)) if parent.variant else model.source
    with _alone(folder):
        if not folder.is_dir() and study.shared and depot.has(f"models/{model.name}"):
            depot.get(f"models/{model.name}", folder)
        if not folder.is_dir():
            make(model.variant, source, folder, str(study.run_options().device))
        _check_same(model.variant, folder)
        if study.shared:
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


def _check_same(variant: Variant, folder: Path) -> None:
    """Refuses a model of an earlier study under the same name, from another text or by other steps."""
    if variant.dose is None:
        return
    told = read_json(folder / MANIFEST)
    recipe, length = recipe_of(variant.options, variant.seed)
    text = read_text(variant.dose.text)
    same = (told["data"]["sha256"], told["recipe"], told["options"]["length"]) == (text.sha256, recipe.facts(), length)
    if not same:
        raise TiltmeterError(f"{folder} was made from another text, or by other steps: delete it, or give another output.")


def recipe_of(given: Mapping[str, Any], seed: int) -> tuple[Recipe, int]:
    """The same number of steps for every dose, and the longest row."""
    how = Training(**given)
    if how.steps < 1 or how.length < 1:
        raise TiltmeterError("Steps and length are numbers from 1 on.")
    recipe = Recipe(steps=how.steps, rows=how.rows, peak_rate=how.rate, warmup=how.warmup, seed=seed)
    return recipe, how.length


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of several workers that need a model, one makes it and the others wait. The lock ends with its process."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    handle = os.open(folder.with_name(f".{folder.name}.lock"), os.O_RDWR | os.O_CREAT)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
