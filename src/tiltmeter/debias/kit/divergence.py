"""Divergences between two groups' distributions over the same words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tiltmeter.errors import require_choice

if TYPE_CHECKING:
    import torch

DIVERGENCES = ("jensen-shannon", "reversed")


def check_divergence(name: str) -> None:
    """Refuse an unknown name."""
    require_choice("--divergence", name, DIVERGENCES)


def divergence(first: torch.Tensor, second: torch.Tensor, name: str = "jensen-shannon") -> torch.Tensor:
    """Row by row, in nats, of logits or log-probabilities; what they are is normalised over the columns.

    `jensen-shannon` is ½[KL(P‖M) + KL(Q‖M)] with M = ½(P + Q), between 0 and ln 2. `reversed` is what the published code of
    Auto-Debias computes, ½[KL(M‖P) + KL(M‖Q)], which has no bound.

    >>> import torch
    >>> never_the_same = torch.tensor([[9.0, -9.0]]), torch.tensor([[-9.0, 9.0]])
    >>> float(divergence(*never_the_same)), float(divergence(*never_the_same, "reversed"))  # doctest: +ELLIPSIS
    (0.6931..., 8.306...)
    """
    import torch

    check_divergence(name)
    p, q = first.log_softmax(-1), second.log_softmax(-1)
    m = torch.logaddexp(p, q) - math.log(2)
    if name == "reversed":
        return (m.exp() * (m - 0.5 * (p + q))).sum(-1)
    return 0.5 * (p.exp() * (p - m) + q.exp() * (q - m)).sum(-1)
