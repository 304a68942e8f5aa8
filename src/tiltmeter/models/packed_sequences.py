"""Sequences one behind the other instead of above each other: a GPU then computes no padding.

Everything in an encoder but attention treats each position by itself, so it does not matter where a sequence ends. Attention
is replaced by a kernel that takes the places where sequences begin. Loading a model checks that it gives the same states so;
where it does not, or takes its attention from elsewhere, its sequences are padded.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tiltmeter.models.lm_head import BodyAndHead

NAME = "tiltmeter_joined"
TRIED = ([5, 6, 7, 8], [9, 10], [11, 12, 13, 14, 15, 16])


@dataclass(frozen=True)
class Joined:
    """Sequences in one row. `starts` has where each begins, and the end; `positions` count from each beginning."""

    ids: torch.Tensor
    positions: torch.Tensor
    starts: torch.Tensor
    longest: int

    def at(self, rows: torch.Tensor, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Where (sequence, column) stands in the row."""
        import torch

        return torch.zeros_like(rows), self.starts[rows] + columns


_now: ContextVar[Joined | None] = ContextVar("joined", default=None)
_used: ContextVar[int] = ContextVar("used", default=0)


def attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any = None, **how: Any
) -> tuple[torch.Tensor, None]:
    """Attention of each sequence to itself, in the form that transformers calls it: (1, heads, tokens, size) each."""
    joined = _now.get()
    if joined is None or mask is not None:
        raise RuntimeError("Joined sequences take no other mask.")
    _used.set(_used.get() + 1)
    q, k, v = (states.transpose(1, 2) for states in (query, key, value))
    starts, longest = joined.starts.int(), joined.longest
    if not q.is_cuda:
        return _one_by_one(q, k, v, joined.starts.tolist(), how.get("scaling")), None
    import torch

    kernel = torch.ops.aten._efficient_attention_forward
    return kernel(q, k, v, None, starts, starts, longest, longest, 0.0, 0, scale=how.get("scaling"))[0], None


def _one_by_one(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, edges: list[int], scale: float | None) -> torch.Tensor:
    """Attention of each sequence in turn, to check packing where there is no such kernel."""
    import torch

    attend = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (states.transpose(1, 2) for states in (q, k, v))
    parts = [
        attend(q[:, :, first:last], k[:, :, first:last], v[:, :, first:last], scale=scale) for first, last in pairwise(edges)
    ]
    return torch.cat(parts, 2).transpose(1, 2)


@contextmanager
def attending_to(joined: Joined) -> Iterator[None]:
    """Says where sequences begin, to every layer of the model that is run inside."""
    token = _now.set(joined)
    try:
        yield
    finally:
        _now.reset(token)


def first_position(parts: BodyAndHead, pad: int | None) -> int | None:
    """First position id of a sequence, if the model gives the same states for packed sequences; else None."""
    import torch

    if parts.body_module is None or "position_ids" not in inspect.signature(parts.body_module.forward).parameters:
        return None
    size = int(parts.module.config.vocab_size)
    rows = [torch.tensor([row], device=parts.device) % size for row in TRIED]
    lengths = torch.tensor([0, *(row.shape[1] for row in rows)], device=parts.device)
    places = torch.cat([torch.arange(row.shape[1], device=parts.device) for row in rows])
    joined = Joined(torch.cat(rows, 1)[0], places, lengths.cumsum(0), int(lengths.max()))
    with torch.inference_mode():
        try:
            alone = torch.cat([parts.hidden_of(row, {}) for row in rows], 1).float()
            tolerance = 1e-4 if next(parts.module.parameters()).dtype == torch.float32 else 3e-2
            for first in dict.fromkeys((0, 0 if pad is None else pad + 1)):
                before = _used.get()
                together = parts.hidden_joined(joined, first).float()
                used = _used.get() > before
                near = torch.allclose(together, alone, rtol=tolerance, atol=tolerance * float(alone.abs().max()))
                if used and near:
                    return first
        except (AttributeError, TypeError, RuntimeError, ValueError, IndexError, KeyError, NotImplementedError):
            return None
    return None


def register() -> bool:
    """Makes the attention known to transformers under our name."""
    try:
        from transformers import AttentionInterface
    except ImportError:
        return False
    AttentionInterface.register(NAME, attention)
    return True
