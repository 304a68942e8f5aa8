"""A cache of keys and values with room for what is still to come.

transformers' own grows by copying everything at every step. Here a token is written into its place, and attention reads a
part of the whole. Layers of another make (of a sliding window, say) stay as they are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def give_room(kept: Any, width: int) -> None:
    """Make the plain layers of a cache as wide as they will ever be."""
    from transformers.cache_utils import DynamicLayer

    for layer in getattr(kept, "layers", ()):
        if type(layer) is DynamicLayer and layer.get_seq_length() > 0:
            layer.__class__ = _roomy_layer()
            layer.make_room(width)


@cache
def _roomy_layer() -> Any:
    from transformers.cache_utils import DynamicLayer

    class RoomyLayer(DynamicLayer):  # type: ignore[misc]
        """`keys` and `values` are what is filled of larger tensors."""

        keys: torch.Tensor
        values: torch.Tensor
        whole: list[torch.Tensor]

        def make_room(self, width: int) -> None:
            self.whole = [_widened(one, width) for one in (self.keys, self.values)]
            self._show(self.get_seq_length())

        def _show(self, filled: int) -> None:
            self.keys, self.values = (one[:, :, :filled] for one in self.whole)

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            filled = self.get_seq_length()
            upto = filled + key_states.shape[-2]
            for one, new in zip(self.whole, (key_states, value_states), strict=True):
                one[:, :, filled:upto] = new
            self._show(upto)
            return self.keys, self.values

        def batch_select_indices(self, indices: torch.Tensor) -> None:
            """Move the rows that stay to the front, in place."""
            filled, n = self.get_seq_length(), len(indices)
            for one in self.whole:
                one[:n, :, :filled] = one[indices, :, :filled]
            self.whole = [one[:n] for one in self.whole]
            self._show(filled)

    return RoomyLayer


def _widened(states: torch.Tensor, width: int) -> torch.Tensor:
    whole = states.new_empty((*states.shape[:2], width, states.shape[3]))
    whole[:, :, : states.shape[2]] = states
    return whole
