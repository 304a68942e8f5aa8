"""The classifiers of a model: fine-tuned once for each seed, and kept in the cache, where other benchmarks find them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tiltmeter.finetune
from tiltmeter.benchmarks.kit.labelled import FINE, TOXIC, Example, LabelledBenchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.seam import How
from tiltmeter.families.labels.options import Options
from tiltmeter.families.labels.predict import encode
from tiltmeter.families.labels.recipes import RECIPES, choose
from tiltmeter.finetune import Labelled, Made, Recipe, train_and_save
from tiltmeter.finetune.export import MANIFEST
from tiltmeter.models import Classifier, LanguageModel, load_classifier, with_head
from tiltmeter.storage.files import file_sha256, read_json
from tiltmeter.storage.places import cache_folder

FOLDER = "classifiers"


@contextmanager
def classifiers_of(
    model: LanguageModel, source: LabelledBenchmark, options: Options, how: How
) -> Iterator[Iterator[tuple[int, Classifier, dict[str, Any]]]]:
    """One classifier for each seed, with what its manifest says. Without a cache they are gone afterwards."""
    root = cache_folder(how.cache)
    with tempfile.TemporaryDirectory() as temporary:
        place = root / FOLDER if root else Path(temporary)
        yield (
            (seed, *_classifier(model, source, (options, how, place), seed))
            for seed in range(how.seed, how.seed + options.seeds)
        )


def _classifier(
    model: LanguageModel, source: LabelledBenchmark, how: tuple[Options, How, Path], seed: int
) -> tuple[Classifier, dict[str, Any]]:
    options, asked, root = how
    named = choose(options, source.recipe, int(model.facts["parameters"]))
    recipe = RECIPES[named].recipe(options, len(source.training), seed)
    folder = root / _key(model, source, options, recipe)
    if not _is_whole(folder):
        shutil.rmtree(folder, ignore_errors=True)
        _train(model, source, options, recipe, folder, named, asked)
    classifier = load_classifier(folder, precision="fp32", device=model.device)
    return classifier, {"recipe": named, **_facts(folder)}


def _train(
    model: LanguageModel, source: LabelledBenchmark, options: Options, recipe: Recipe, folder: Path, named: str, how: How
) -> None:
    parts = with_head(model, (FINE, TOXIC), seed=recipe.seed, dropout=RECIPES[named].dropout)
    encoded = encode(model.tokens, [example.text for example in source.training], options.max_length)
    usable = [n for n, row in enumerate(encoded.rows) if row]
    labels = [int(source.training[n].toxic) for n in usable]
    task = Labelled(parts.module, [encoded.rows[n] for n in usable], labels, parts.tokenizer)
    data = {
        "source": source.learned_from or source.source,
        "texts": len(usable),
        "cut": int(encoded.cut.sum()),
        "sha256": source.training_hash,
    }
    made = Made("fine-tuned classifier", source.citation, {"recipe": named, "max_length": options.max_length}, data)

    def watch(_: str, total: int) -> Any:
        return how.watched(f"{model.name} learns {source.learned_from or source.name}, seed {recipe.seed}", total)

    train_and_save(parts, task, recipe, folder, made, watch=watch)


def check_training(training: Sequence[Example], name: str) -> None:
    """Refuses texts of one label, from which nothing can be learned."""
    toxic = sum(example.toxic for example in training)
    if not training:
        raise TiltmeterError(
            f"{name} has no texts to learn from. Give a column 'split' with train and test, learn from another benchmark "
            "(--train-on hatexplain), or ask a model that is a classifier already."
        )
    if toxic in (0, len(training)):
        only = TOXIC if toxic else FINE
        raise TiltmeterError(f"All {len(training)} training texts of {name} are {only}; both labels are needed to learn.")


def _key(model: LanguageModel, source: LabelledBenchmark, options: Options, recipe: Recipe) -> str:
    """Everything that decides what is learned."""
    made_of = {
        "model": model.identity, "texts": source.training_hash, "recipe": recipe.digest(), "length": options.max_length,
        "code": _code(),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _code() -> str:
    """After a change of the trainer nothing older is taken for its work."""
    home = Path(tiltmeter.finetune.__file__).parent
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(home.glob("*.py")))).hexdigest()[:16]


def _is_whole(folder: Path) -> bool:
    """Whether the weights are there as they were written."""
    try:
        weights = read_json(folder / MANIFEST)["weights"]
        return bool(weights) and all(file_sha256(folder / name) == digest for name, digest in weights.items())
    except (TiltmeterError, OSError, KeyError, TypeError):
        return False


def _facts(folder: Path) -> dict[str, Any]:
    said = read_json(folder / MANIFEST)
    training = {name: said["training"][name] for name in ("steps", "first_loss", "last_loss", "seconds", "device")}
    rate = {name: said["recipe"][name] for name in ("epochs", "rows", "peak_rate")}
    size = int(np.sum([path.stat().st_size for path in folder.iterdir()]))
    return {"seed": said["seed"], **rate, **training, "data": said["data"], "folder": str(folder), "bytes": size}
