"""Training of a multiple-choice head: a language model's body with a new head, on questions with a right answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.errors import InputError
from tiltmeter.finetune.classifier import ClassifierRecipe
from tiltmeter.finetune.folder_training import Finished, Made, train
from tiltmeter.finetune.outcome import Watch
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.row_order import Ints
from tiltmeter.finetune.tasks import Drawn, Task
from tiltmeter.models import ChoiceHead, LanguageModel, choice_head_of, with_choice_head
from tiltmeter.models.choice_head import Row, encode_pairs, pair_logits

if TYPE_CHECKING:
    import torch

RECIPE = ClassifierRecipe(epochs=3, rate=1e-5, rows=16, warmup=0.06)
"""As RoBERTa was fine-tuned on RACE (Liu et al., 2019): rate 1e-5, batches of 16, and 6 % warm-up."""
Question = tuple[Sequence[tuple[str, str]], int]
"""A pair of texts for each answer, and the number of the right one."""


class Chosen(Task):
    """A question has answers, of which one is right; a head gives one score to each."""

    def __init__(self, module: Any, tokenizer: Any, rows: Sequence[Sequence[Row]], right: Sequence[int]) -> None:
        self.module, self.tokenizer, self.rows = module, tokenizer, rows
        self.right = np.asarray(right, dtype=np.int64)
        self.lengths = np.array([len(row) * max(len(one["input_ids"]) for one in row) for row in rows], dtype=np.int64)

    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """Mean cross-entropy of the right answers."""
        import torch

        some = [self.rows[row] for row in rows]
        scores = pair_logits(self.module, self.tokenizer, [one for row in some for one in row]).float()
        split = torch.split(scores, [len(row) for row in some])
        padded = torch.nn.utils.rnn.pad_sequence(list(split), batch_first=True, padding_value=-torch.inf)
        return torch.nn.functional.cross_entropy(padded, torch.from_numpy(self.right[rows]).to(scores.device))


def train_choice_head(
    model: LanguageModel,
    questions: Sequence[Question],
    learned: Sequence[str],
    recipe: Recipe,
    made: Made,
    *,
    work: Path | None = None,
    watch: Watch | None = None,
) -> tuple[ChoiceHead, Finished]:
    """Train a multiple-choice head on a model; return it with what stores it.

    Args:
        model: Gives the body and the tokenizer; it stays as it is.
        questions: What is learned. Questions longer than the model's window are left out; the manifest counts them.
        learned: Their categories; evaluation on them is refused.
        recipe: Budget, rate and seed; the seed decides the new head, too.
        made: What the manifest says of method and data.
        work: Folder for checkpoints; without it, nothing survives an interruption.
        watch: Shows progress.
    """
    parts = with_choice_head(model, learned, seed=recipe.seed)
    limit = model.tokens.max_length or np.inf
    rows = [(encode_pairs(parts.tokenizer, pairs), right) for pairs, right in questions]
    usable = [(row, right) for row, right in rows if max(len(one["input_ids"]) for one in row) <= limit]
    if not usable:
        raise InputError(
            f"No question fits into the window of {model.name}.", code="empty-selection", model=model.name, kind="questions"
        )
    task = Chosen(parts.module, parts.tokenizer, [row for row, _ in usable], [right for _, right in usable])
    made = replace(made, data={**made.data, "questions": len(usable), "too_long": len(rows) - len(usable)})
    finished = train(parts, task, recipe, made, work=work, watch=watch)
    facts = {"name": model.name, "precision": "fp32"}
    return choice_head_of(model.name, finished.parts.module, parts.tokenizer, facts), finished
