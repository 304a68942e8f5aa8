"""The one way to train a classifier: a language model's body with a new head, on texts with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.finetune.folder_training import Finished, Made, train
from tiltmeter.finetune.outcome import Watch
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.tasks import Labelled
from tiltmeter.models import Classifier, LanguageModel, Tokenization, classifier_of, with_head
from tiltmeter.models.text_batches import encode_texts

VERSION = 1
"""Raised when the same texts, recipe and model give another classifier: stored ones are then trained anew."""
LONGEST = 128
Examples = Sequence[tuple[str, int]]


@dataclass(frozen=True)
class ClassifierRecipe:
    """Settings to train a classifier, as papers print them.

    `dropout` of None is the model's own. `least_steps`: a small set is read more often, so that there is something to
    learn.
    """

    epochs: float
    rate: float
    rows: int = 16
    dropout: float | None = None
    warmup: float = 0.0
    weight_decay: float = 0.0
    least_steps: int = 0

    def recipe(self, n_texts: int, seed: int, *, epochs: float | None = None, rate: float | None = None) -> Recipe:
        """The recipe for so many texts; `epochs` and `rate` replace those of the paper."""
        made = Recipe(
            epochs=epochs or self.epochs,
            rows=self.rows,
            peak_rate=rate or self.rate,
            warmup=self.warmup,
            weight_decay=self.weight_decay,
            seed=seed,
        )
        too_few = not epochs and made.n_steps(n_texts) < self.least_steps
        return replace(made, steps=self.least_steps) if too_few else made


@dataclass(frozen=True)
class LabelledTexts:
    """Texts to learn from with the numbers of their labels; the loss of `held_out` is recorded in the manifest."""

    labels: tuple[str, ...]
    train: Examples
    held_out: Examples = ()
    max_length: int = LONGEST


def train_classifier(
    model: LanguageModel,
    texts: LabelledTexts,
    recipe: Recipe,
    made: Made,
    *,
    dropout: float | None = None,
    work: Path | None = None,
    watch: Watch | None = None,
) -> tuple[Classifier, Finished]:
    """Train a classifier of a model; return it with what stores it.

    Args:
        model: Gives the body and the tokenizer; it stays as it is.
        texts: What is learned. Texts without tokens are left out, long ones are cut; the manifest counts both.
        recipe: Budget, rate and seed; the seed decides the new head, too.
        made: What the manifest says of method and data.
        dropout: Of all layers; None keeps the model's own.
        work: Folder for checkpoints; without it, nothing survives an interruption.
        watch: Shows progress.
    """
    parts = with_head(model, texts.labels, seed=recipe.seed, dropout=dropout)
    task, n_cut = _task(parts.module, model.tokens, texts.train, texts.max_length)
    held_out = _task(parts.module, model.tokens, texts.held_out, texts.max_length)[0] if texts.held_out else None
    made = replace(made, data={**made.data, "texts": len(task.rows), "cut": n_cut})
    finished = train(parts, task, recipe, made, work=work, held_out=held_out, watch=watch)
    facts = {"name": model.name, "precision": "fp32"}
    return classifier_of(model.name, finished.parts.module, parts.tokenizer, facts), finished


def _task(module: Any, tokens: Tokenization, examples: Examples, max_length: int) -> tuple[Labelled, int]:
    encoded = encode_texts(tokens, [text for text, _ in examples], max_length)
    usable = [n for n, row in enumerate(encoded.rows) if row]
    task = Labelled(module, [encoded.rows[n] for n in usable], [examples[n][1] for n in usable])
    return task, int(encoded.cut.sum())
