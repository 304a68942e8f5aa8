"""A model that gives vectors: hidden states of any layer, averaged over the positions one names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.capabilities import OF_KIND
from tiltmeter.models.forward_pass import passing
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.permutation import is_permuted, segments
from tiltmeter.models.weighted import WeightedModel

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PoolBatch:
    """Padded sequences, and for each vector wanted (`vector`) the positions that it averages, with their weights."""

    ids: Ints
    lengths: Ints
    row: Ints
    column: Ints
    vector: Ints
    weight: NDArray[np.float32]
    n_vectors: int


class Encoder(WeightedModel):
    """The body of a masked, causal or sentence-transformers model. Its head is not used."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities: vectors only, whatever its head could do."""
        return OF_KIND["encoder"]

    @property
    def default_pooling(self) -> str:
        """Pooling that its folder names; `mean` where it names none."""
        pooling = str(self.facts.get("pooling", "mean"))
        if not pooling:
            raise ModelError(
                f"{self.name}: its folder names a pooling that is not supported. Choose one with --pooling.",
                code="missing-value",
                model=self.name,
                name="pooling",
            )
        return pooling

    @cached_property
    def n_layers(self) -> int:
        """Number of layers above the input embeddings."""
        config = self._module.config
        return int(getattr(config, "num_hidden_layers", getattr(config, "n_layer", 0)))

    @property
    def attention_cells(self) -> int:
        """Attention weights per pair of positions, for the budget of batches."""
        return max(1, self.n_layers) * int(getattr(self._module.config, "num_attention_heads", 1))

    def check_layer(self, layer: int) -> None:
        """Raise an error for a layer that the model does not have. 0 are the input embeddings, −1 is the last layer."""
        if not -self.n_layers - 1 <= layer <= self.n_layers:
            raise UsageError(
                f"{self.name} has the layers 0 (input embeddings) to {self.n_layers}, or −1 (last) to "
                f"−{self.n_layers + 1}; there is no layer {layer}.",
                code="out-of-range",
                model=self.name,
                name="layer",
                value=layer,
                low=-self.n_layers - 1,
                high=self.n_layers,
            )

    def embed(self, batch: PoolBatch, layer: int = -1) -> NDArray[np.float32]:
        """One forward pass; one vector for each that the batch names."""
        with passing(self.precision, self._module):
            return self._embed(batch, layer).cpu().numpy()

    def _embed(self, batch: PoolBatch, layer: int) -> torch.Tensor:
        import torch

        device = next(self._module.parameters()).device
        row, column, vector, weight, ids = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device)
            for array in (batch.row, batch.column, batch.vector, batch.weight, batch.ids)
        )
        states = self._states(ids, batch.lengths, layer)[row, column].float() * weight[:, None]
        return torch.zeros((batch.n_vectors, states.shape[1]), device=device).index_add_(0, vector, states)

    def _states(self, ids: torch.Tensor, lengths: Ints, layer: int) -> torch.Tensor:
        import torch

        valid = np.arange(ids.shape[1]) < lengths[:, None]
        options: dict[str, Any] = {"use_cache": False} if self.kind == "causal" else {}
        if not valid.all():  # without padding there is nothing to say, and faster kernels can be used
            options["attention_mask"] = torch.from_numpy(valid.astype(np.int64)).to(ids.device)
        if is_permuted(self._module.config):
            cls_id = getattr(self.tokens.tokenizer, "cls_token_id", None)
            options |= {"token_type_ids": segments(ids, cls_id), "use_mems": False}
        body = self._module.base_model
        if layer in (-1, self.n_layers):
            return body(input_ids=ids, **options).last_hidden_state  # type: ignore[no-any-return]
        return body(input_ids=ids, output_hidden_states=True, **options).hidden_states[layer]  # type: ignore[no-any-return]


def encoder_of(model: LanguageModel) -> Encoder:
    """Make an encoder from the weights of a language model. A wrapper of the head has its base's vectors."""
    module = getattr(model._module, "unwrapped", model._module)
    return Encoder(model.name, model.kind, module, model.tokens, model.facts, model.loaded_as)
