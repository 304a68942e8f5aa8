"""A step of Context-Debias is the same however it is cut into pieces, at both levels and for both losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conftest import GOLDEN
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.context_debias_objective import Objective
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.stereotypes import stereotype_words
from tiltmeter.debias.kit.word_positions import occurrences
from tiltmeter.finetune.loss_steps import Steps
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.models import Tokenization, load_parts


@pytest.mark.parametrize("level", ["token", "sentence"])
@pytest.mark.parametrize("loss", ["square-of-mean", "mean-of-squares"])
def test_a_step_does_not_depend_on_its_cut(loss: str, level: str) -> None:
    parts = load_parts(GOLDEN / "models" / "tiny-bert-cased", precision="fp32", device="cpu")
    for one in parts.module.modules():
        if isinstance(one, torch.nn.Dropout):
            one.p = 0.0
    tokens = Tokenization(parts.tokenizer)
    (swap,) = make_swaps()
    found = occurrences(tokens, text_of(None).lines[:300], swap.lists[0], stereotype_words(), 64)
    task, _ = Objective(level, "all", loss).tasks(parts.module, tokens.pad_id, *found.split(0, 0))
    rows = np.concatenate([np.arange(12), np.arange(len(task.lengths) - 12, len(task.lengths))])
    rows = rows[np.argsort(-task.lengths[rows], kind="stable")]
    seen = []
    for budget in (100_000, 120):
        steps = Steps(parts.module, Recipe(piece_tokens=budget))
        assert (len(steps._cut(task, rows, {})) > 1) == (budget == 120)
        value = steps.gradients(task, rows, 0)
        gradient = torch.cat([one.grad.flatten() for one in parts.module.parameters() if one.grad is not None])
        seen.append((value, gradient))
    (whole, whole_gradient), (cut, cut_gradient) = seen
    torch.testing.assert_close(cut, whole, rtol=1e-5, atol=0)
    torch.testing.assert_close(cut_gradient, whole_gradient, rtol=1e-3, atol=1e-6)
