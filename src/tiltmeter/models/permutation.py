"""Permutation language models (XLNet): a position is hidden from all others by the model's own mask, and predicted there.

XLNet has two streams. The content stream sees each token; the query stream predicts a position from all that it may see,
never from that position's own token unless nothing is hidden. Hiding exactly the positions where a mask stands gives
P(token | all others), what a masked model gives; hiding none gives the counterpart of reading an unmasked sentence
(Yang et al., 2019, XLNet, NeurIPS, Section 2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models.lm_head import BodyAndHead, Sites

if TYPE_CHECKING:
    import torch

MODEL_TYPES = frozenset({"xlnet"})
SEGMENT_OF_CLS = 2
ABOUT = "permutation: positions with a mask are hidden from all others"


def is_permuted(config: Any) -> bool:
    """Return True if a model predicts in any order, so that a position can be hidden without changing the input."""
    return getattr(config, "model_type", None) in MODEL_TYPES


def segments(ids: torch.Tensor, cls_id: int | None) -> torch.Tensor:
    """One sentence is segment 0, the classification token has a segment of its own, as XLNet was trained."""
    import torch

    return torch.zeros_like(ids) if cls_id is None else (ids == cls_id).long() * SEGMENT_OF_CLS


class HiddenPositions(BodyAndHead):
    """The query stream of a permutation language model, read at the sites of a batch."""

    def __init__(self, module: Any, mask_id: int | None, cls_id: int | None) -> None:
        super().__init__(module, causal=False)
        self.mask_id, self.cls_id = mask_id, cls_id

    def _find_body(self) -> Any:
        return self.module.transformer

    def body(
        self,
        ids: NDArray[np.int64],
        lengths: NDArray[np.int64],
        sites: Sites,
        attention: bool,
        ends: NDArray[np.int64] | None = None,
    ) -> tuple[torch.Tensor, None]:
        """States of the query stream at the sites; masked positions are hidden from all others. `ends` is unused."""
        import torch

        if attention:
            raise ModelError(
                "aula is not defined for XLNet, which attends in two streams. Use another scorer, such as pll.",
                code="missing-capability",
                needs="attention weights",
            )
        rows, columns = sites
        tokens, valid = self.send(ids), self.send(np.arange(ids.shape[1]) < lengths[:, None])
        dtype = next(self.module.parameters()).dtype
        hidden = self.send(ids == self.mask_id).to(dtype)[:, None, :].expand(-1, ids.shape[1], -1)
        # The n-th site of a row is its n-th target; sites are in the order of their rows.
        target = torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows.contiguous(), rows)
        mapping = torch.zeros((len(tokens), int(target.max()) + 1, ids.shape[1]), dtype=dtype, device=rows.device)
        mapping[rows, target, columns] = 1
        output = self.module.transformer(
            input_ids=tokens, attention_mask=valid.to(dtype), perm_mask=hidden, target_mapping=mapping,
            token_type_ids=segments(tokens, self.cls_id), use_mems=False,
        )  # fmt: skip
        return output.last_hidden_state[rows, target], None

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """States of single positions to float32 logits."""
        return self.module.lm_loss(hidden).float()  # type: ignore[no-any-return]

    head_as_is = head
