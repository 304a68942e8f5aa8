"""A classifier of one's own: a model's body with a new head, trained, and measured on texts that it never saw."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.classifiers.kit.errors_of import FILE, errors_text
from tiltmeter.classifiers.kit.labelled import Labelled, Row, read_labelled
from tiltmeter.classifiers.kit.measuring import measured_errors
from tiltmeter.classifiers.kit.sequence import SequenceClassifier
from tiltmeter.errors import TiltmeterError
from tiltmeter.finetune import Labelled as LabelledTask
from tiltmeter.finetune import Made, Recipe, Watch, check_output, train_and_save
from tiltmeter.models import load_model, with_head
from tiltmeter.storage.files import write_json, write_text

LONGEST = 128
CITATION = "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Appendices B and C."
RECIPES = {"toxicity": (3.0, 3e-5), "stereotype": (1.0, 5e-6), "regard": (3.0, 2e-5)}
"""Epochs and rate: hate speech and stereotypes as in the paper (for models of BERT's size); regard is our own choice."""


@dataclass(frozen=True)
class Wanted:
    """What a classifier is trained with; epochs and rate of 0 are the notion's own."""

    epochs: float = 0.0
    rate: float = 0.0
    rows: int = 16
    seed: int = 0
    limit: int | None = None
    device: str = "auto"


def train_classifier(
    notion: str,
    model: str,
    output: str | Path,
    *,
    data: Path | None = None,
    data_dir: Path | None = None,
    wanted: Wanted | None = None,
    watch: Watch | None = None,
) -> Path:
    """Trains, measures and stores. The folder appears when it is complete; its errors are in errors.json and README.md."""
    wanted = wanted or Wanted()
    place = check_output(output)
    labelled = read_labelled(notion, data, data_dir)
    epochs, rate = RECIPES.get(notion, (3.0, 2e-5))
    recipe = Recipe(
        epochs=wanted.epochs or epochs, peak_rate=wanted.rate or rate, rows=wanted.rows, seed=wanted.seed, warmup=0.06
    )
    backbone = load_model(model, precision="fp32", device=wanted.device)
    parts = with_head(backbone, labelled.names, seed=wanted.seed)
    making = place.with_name(f".{place.name}.making")
    if making.exists():
        shutil.rmtree(making)
    made = Made(
        f"classifier of {notion}",
        f"{CITATION} {labelled.citation}",
        {"notion": notion, "limit": wanted.limit},
        labelled.facts(),
    )
    train, held_out = (
        _task(parts.module, parts.tokenizer, rows) for rows in (_limited(labelled.train, wanted.limit), labelled.held_out)
    )
    try:
        train_and_save(parts, train, recipe, making, made, held_out=held_out, watch=watch)
        _measure(making, labelled, notion, wanted.seed)
        making.rename(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return place


def _limited(rows: Sequence[Row], n: int | None) -> Sequence[Row]:
    """So many rows, spread over the whole: datasets are sorted by label."""
    if n is None or n >= len(rows):
        return rows
    if n < 2:
        raise TiltmeterError(f"--limit must be at least 2, not {n}.")
    return [rows[at * len(rows) // n] for at in range(n)]


def _task(module: Any, tokenizer: Any, rows: Sequence[Row]) -> LabelledTask:
    ids = tokenizer([row.text for row in rows], truncation=True, max_length=LONGEST, verbose=False)["input_ids"]
    return LabelledTask(module, ids, [row.label for row in rows], tokenizer)


def _measure(folder: Path, labelled: Labelled, notion: str, seed: int) -> None:
    classifier = SequenceClassifier.load(str(folder))
    found = classifier.probabilities([row.text for row in labelled.test])
    errors = measured_errors(labelled.test, found, labelled.negative, seed)
    write_json(folder / FILE, errors | {"notion": notion, "test": labelled.source})
    write_text(folder / "README.md", _card(folder, labelled, notion, errors))


def _card(folder: Path, labelled: Labelled, notion: str, errors: dict[str, Any]) -> str:
    """What a user of the classifier should know."""
    groups = "".join(
        f"| {name} | {one['share']:.3f} [{one['low']:.3f}, {one['high']:.3f}] | {one['n']:,} |\n"
        for name, one in errors["groups"].items()
    )
    accuracy = errors["accuracy"]
    return (
        f"# A classifier of {notion}\n\nTrained by tiltmeter on {labelled.source} ({len(labelled.train):,} texts). "
        f"{labelled.citation}\n\nOn {errors['f1']['n']:,} texts that it never saw, {errors_text(errors)}. Accuracy "
        f"{accuracy['share']:.3f} [{accuracy['low']:.3f}, {accuracy['high']:.3f}].\n\nHarmless texts about a group "
        f"that it calls {labelled.names[labelled.negative]}:\n\n"
        f"| group | share, 95 % interval | texts |\n|---|---|---|\n{groups}"
    )
