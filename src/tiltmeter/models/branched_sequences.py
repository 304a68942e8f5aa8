"""Sequences with a branch: a causal model reads two texts in one; the second continues from the middle of the first.

The second text's tokens count their positions from the branch on and attend to what both share and to themselves. Whether an
architecture takes positions and masks as they are given is tried once: some count positions by themselves.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tiltmeter.models.lm_head import BodyAndHead


def branching_options(valid: torch.Tensor, branch: torch.Tensor, dtype: torch.dtype) -> dict[str, Any]:
    """Positions, and an additive mask (sequence × 1 × query × key). `branch`: the shared columns, and the second's start."""
    import torch

    here = torch.arange(valid.shape[1], device=valid.device)
    shared, start = branch[:, :1], branch[:, 1:]
    second = (start > 0) & (here >= start)  # sequence × column
    positions = torch.where(second, here - start + shared, here)
    first_only = (here >= shared) & (here < start)
    hidden = second[:, :, None] & first_only[:, None, :]
    allowed = (here[:, None] >= here) & valid[:, None, :] & ~hidden
    mask = torch.zeros(allowed.shape, dtype=dtype, device=valid.device).masked_fill_(~allowed, torch.finfo(dtype).min)
    return {"attention_mask": mask[:, None], "position_ids": positions}


def takes_branches(parts: BodyAndHead) -> bool:
    """Return True if a branch gives the states of the second text alone, in a batch with padding."""
    import torch

    target = parts.module if parts.body_module is None else parts.body_module
    if "position_ids" not in inspect.signature(target.forward).parameters:
        return False
    rows = [[5, 6, 7, 8, 9, 10, 11, 12], [5, 6, 7, 13, 14], [15, 16, 17]]
    both = [*rows[0], *rows[1][3:]]
    size = int(parts.module.config.vocab_size)
    ids = torch.tensor([both, rows[2] + [0] * (len(both) - 3)], device=parts.device) % size
    valid = torch.arange(len(both), device=parts.device) < torch.tensor([[len(both)], [3]], device=parts.device)
    branch = torch.tensor([[3, 8], [0, 0]], device=parts.device)
    dtype = next(parts.module.parameters()).dtype
    try:
        with torch.inference_mode():
            together = parts.hidden_of(ids, branching_options(valid, branch, dtype)).float()
            alone = [parts.hidden_of(torch.tensor([row], device=parts.device) % size, {})[0].float() for row in rows]
    except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
        return False
    if not all(bool(states.isfinite().all()) for states in alone):
        return False  # broken weights: what is asked of them is reported as not finite
    found = [together[0, :8], together[0, [0, 1, 2, 8, 9]], together[1, :3]]
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    pairs = zip(found, alone, strict=True)
    return all(bool(torch.allclose(a, b, rtol=tolerance, atol=tolerance * float(b.abs().max()))) for a, b in pairs)
