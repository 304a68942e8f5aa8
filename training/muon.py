"""Muon: momentum for the matrices inside the layers. Imported where it is used, since it cannot be defined without torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are orthogonalised before the step (Jordan et al., 2024), equal shapes together.

    Steps are scaled by 0.2·√(longer side), so that Adam's rate and weight decay fit (Liu et al., 2025). A matrix that holds
    several side by side (GPT-2's query, key and value) is cut first: `pieces` says how many.
    """

    def __init__(self, parameters: Iterable[Any], lr: float, weight_decay: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "pieces": 1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                by_shape[parameter.shape].append(parameter)
            for parameters in by_shape.values():
                self._step(parameters, group)

    def _step(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        stacked = torch.stack([self._smoothed(parameter, group["momentum"]) for parameter in parameters])
        pieces = torch.cat(stacked.chunk(group["pieces"], -1))
        straight = orthogonalise(pieces) * (0.2 * max(pieces.shape[-2:]) ** 0.5)
        updates = torch.cat(straight.chunk(group["pieces"]), -1)
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(parameters, list(updates.to(parameters[0].dtype).unbind()), alpha=-group["lr"])

    def _smoothed(self, parameter: Tensor, momentum: float) -> Tensor:
        """Nesterov's momentum: the running mean, and the gradient once more."""
        assert parameter.grad is not None  # every matrix takes part in every batch
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(state["momentum"], momentum)


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """Newton–Schulz iteration towards UVᵀ of each matrix; rough on purpose, in bfloat16."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).bfloat16()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    straight: Tensor = x.mT if tall else x
    return straight
