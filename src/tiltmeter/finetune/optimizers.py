"""AdamW for vectors and embeddings, Muon for the matrices inside the layers if wanted, and the rate they go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor

UNKNOWN_STEPS = 100_000


class Pace(Protocol):
    """What a recipe says of its optimizer, be it one of `training/` or one of fine-tuning."""

    @property
    def optimizer(self) -> str: ...
    @property
    def peak_rate(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...


def make_optimizers(model: Any, pace: Pace, betas: tuple[float, float] = (0.9, 0.98)) -> list[torch.optim.Optimizer]:
    """Every parameter that learns in exactly one optimizer; vectors (biases, norms) are not decayed."""
    import torch

    learning = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    matrices = _matrices(learning) if pace.optimizer == "muon" else {}
    rest = [parameter for name, parameter in learning.items() if name not in matrices]
    groups = [
        {"params": [parameter for parameter in rest if parameter.ndim > 1], "weight_decay": pace.weight_decay},
        {"params": [parameter for parameter in rest if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    fused = next(model.parameters()).device.type in ("cuda", "cpu")  # ten times faster, and a tenth of a CPU's whole step
    adam = torch.optim.AdamW(groups, lr=pace.peak_rate, betas=betas, eps=1e-8, fused=fused)
    if not matrices:
        return [adam]
    from tiltmeter.finetune.muon import Muon

    return [adam, Muon(_by_pieces(matrices), pace.peak_rate, pace.weight_decay)]


def _matrices(learning: dict[str, Tensor]) -> dict[str, Tensor]:
    """Those inside the layers, `….layer.3.…` or, in GPT-2, `….h.3.…`: neither embeddings nor the head."""
    return {name: one for name, one in learning.items() if one.ndim == 2 and (".layer." in name or ".h." in name)}


def _by_pieces(matrices: dict[str, Tensor]) -> list[dict[str, Any]]:
    pieces = {name: 3 if "c_attn" in name else 1 for name in matrices}
    return [
        {"params": [matrices[name] for name in pieces if pieces[name] == n], "pieces": n} for n in sorted({*pieces.values()})
    ]


def set_rate(optimizers: list[torch.optim.Optimizer], rate: float) -> None:
    """One rate for all of them."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def learning_rate(pace: Pace, step: int, steps: int) -> float:
    """Up linearly during the warm-up, then down linearly to zero."""
    steps = steps or UNKNOWN_STEPS  # a budget in minutes is known only after some steps, all of them in the warm-up
    warm = max(1.0, pace.warmup * steps)
    return pace.peak_rate * min((step + 1) / warm, max(0.0, (steps - step) / max(1.0, steps - warm)))
