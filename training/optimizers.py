"""Muon for the matrices inside the layers if wanted, and AdamW for vectors, embeddings and the head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tiltmeter.finetune.optimizers import make_adamw
from training.muon import Muon
from training.recipe import Recipe

BETAS = (0.9, 0.98)


def make_optimizers(model: Any, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Put every parameter into exactly one optimizer."""
    matrices = _matrices(model) if recipe.optimizer == "muon" else {}
    rest = [parameter for name, parameter in model.named_parameters() if name not in matrices]
    adam = make_adamw(rest, recipe, BETAS)
    return [adam, Muon(_by_pieces(matrices), recipe.peak_rate, recipe.weight_decay)] if matrices else [adam]


def _matrices(model: Any) -> dict[str, Tensor]:
    """Those inside the layers, `….layer.3.…` or, in GPT-2, `….h.3.…`: neither embeddings nor the head."""
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.ndim == 2 and (".layer." in name or ".h." in name)
    }


def _by_pieces(matrices: dict[str, Tensor]) -> list[dict[str, Any]]:
    pieces = {name: 3 if "c_attn" in name else 1 for name in matrices}
    return [
        {"params": [matrices[name] for name in pieces if pieces[name] == n], "pieces": n} for n in sorted({*pieces.values()})
    ]
