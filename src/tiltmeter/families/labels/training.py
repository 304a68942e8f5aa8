"""The classifiers of a model: fine-tuned once for each seed, and kept in the cache, where other benchmarks find them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.benchmarks.kit.labelled import FINE, TOXIC, Example, LabelledBenchmark
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.families.kit.protocol import AskContext, family_of
from tiltmeter.families.labels.options import Options
from tiltmeter.families.labels.recipes import RECIPES, choose
from tiltmeter.finetune import Finished, LabelledTexts, Made, Recipe, train_classifier, unfinished
from tiltmeter.finetune.classifier import VERSION
from tiltmeter.finetune.export import MANIFEST
from tiltmeter.models import Classifier, LanguageModel, load_classifier
from tiltmeter.storage.cache_users import mark_used
from tiltmeter.storage.files import file_sha256, read_json
from tiltmeter.storage.locks import lock_folder
from tiltmeter.storage.places import cache_folder

FOLDER = "classifiers"


def classifiers_of(
    model: LanguageModel, source: LabelledBenchmark, options: Options, context: AskContext
) -> Iterator[tuple[int, Classifier, dict[str, Any]]]:
    """One classifier for each seed, with facts about its training. They are stored where there is a cache."""
    root = cache_folder(context.cache)
    named = choose(options, source.recipe, int(model.facts["parameters"]))
    for seed in range(context.seed, context.seed + options.seeds):
        recipe = RECIPES[named].recipe(len(source.training), seed, epochs=options.epochs, rate=options.rate)
        folder = root / FOLDER / _key(model, source, options, recipe, named) if root else None
        with _alone(folder):  # two processes would write one folder
            if folder is not None and _is_whole(folder):
                classifier = load_classifier(folder, precision="fp32", device=model.device)
                facts = _facts(read_json(folder / MANIFEST))
            else:
                classifier, finished = _train(model, source, options, recipe, named, folder, context)
                facts = _facts(finished.manifest)
        if root and folder is not None:
            mark_used(folder / MANIFEST, root)
        yield seed, classifier, {"recipe": named, **facts, **_place(folder)}


def _alone(folder: Path | None) -> AbstractContextManager[None]:
    """Hold the folder of a classifier; another process that wants the same one waits, and then finds it made."""
    if folder is None:
        return nullcontext()
    folder.parent.mkdir(parents=True, exist_ok=True)
    return lock_folder(folder, wait=True)


def _train(
    model: LanguageModel,
    source: LabelledBenchmark,
    options: Options,
    recipe: Recipe,
    named: str,
    folder: Path | None,
    context: AskContext,
) -> tuple[Classifier, Finished]:
    learned = source.learned_from or source.name
    examples = [(example.text, int(example.toxic)) for example in source.training]
    data = {"source": source.learned_from or source.source, "sha256": source.training_hash}
    made = Made("fine-tuned classifier", source.citation, {"recipe": named, "max_length": options.max_length}, data)

    def watch(_: str, total: int) -> Any:
        return context.watched(f"{model.name} learns {learned}, seed {recipe.seed}", total)

    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    classifier, finished = train_classifier(
        model,
        LabelledTexts((FINE, TOXIC), examples, max_length=options.max_length),
        recipe,
        made,
        dropout=RECIPES[named].dropout,
        work=folder and unfinished(folder),
        watch=watch,
    )
    if folder is not None:
        finished.save(folder)
    return classifier, finished


def check_training(training: Sequence[Example], name: str) -> None:
    """Refuse texts of one label, from which nothing can be learned."""
    toxic = sum(example.toxic for example in training)
    if not training:
        raise InputError(
            f"{name} has no training texts. Add a column 'split' with train and test, train on another benchmark "
            "(--train-on hatexplain), or measure a model that is a classifier already.",
            code="empty-selection", benchmark=name, kind="training texts",
        )  # fmt: skip
    if toxic in (0, len(training)):
        only = TOXIC if toxic else FINE
        raise InputError(
            f"All {len(training)} training texts of {name} are {only}; training needs both labels.",
            code="too-few", benchmark=name, kind="labels", least=2,
        )  # fmt: skip


def _key(model: LanguageModel, source: LabelledBenchmark, options: Options, recipe: Recipe, named: str) -> str:
    """Everything that decides what is learned."""
    made_of = {
        "model": model.identity.describe(), "texts": source.training_hash, "recipe": recipe.digest(),
        "length": options.max_length, "dropout": RECIPES[named].dropout, "trainer": VERSION,
        "version": family_of(source).VERSION,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:32]


def _is_whole(folder: Path) -> bool:
    """Return whether the weights are there as they were written."""
    try:
        weights = read_json(folder / MANIFEST)["weights"]
        return bool(weights) and all(file_sha256(folder / name) == digest for name, digest in weights.items())
    except (TiltmeterError, OSError, KeyError, TypeError):
        return False


def _facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    training = {name: manifest["training"][name] for name in ("steps", "first_loss", "last_loss", "seconds", "device")}
    rate = {name: manifest["recipe"][name] for name in ("epochs", "rows", "peak_rate")}
    return {"seed": manifest["seed"], **rate, **training, "data": manifest["data"]}


def _place(folder: Path | None) -> dict[str, Any]:
    if folder is None:
        return {}
    return {"folder": str(folder), "bytes": int(np.sum([path.stat().st_size for path in folder.iterdir()]))}
