"""What every model with weights has: a name, a tokenizer, facts about itself, and an identity for the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.hashing import hash_state
from tiltmeter.models.tokenization import Tokenization


class WeightedModel:
    """A Hugging Face module in evaluation mode, with its tokenizer, on one device, in one precision."""

    def __init__(self, name: str, kind: str, module: Any, tokens: Tokenization, facts: dict[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.tokens = tokens
        self.facts = facts
        self._module = module

    @property
    def weights_hash(self) -> str:
        """Fingerprint of weights and configuration; of a model in memory, as it is now, since it may be trained on."""
        return str(self.facts.get("weights_sha256") or hash_state(self._module))

    @property
    def precision(self) -> str:
        """fp32, tf32, bf16 or fp16."""
        return str(self.facts["precision"])

    @property
    def device(self) -> str:
        """Where it runs: cpu, cuda, mps."""
        return str(next(self._module.parameters()).device.type)

    @property
    def identity(self) -> dict[str, str]:
        """Everything about the model that decides what it answers."""
        return {
            "weights": self.weights_hash,
            "tokenizer": self.tokens.sha256,
            "max_length": str(self.tokens.max_length),
            "precision": self.precision,
            "device": self.device,
            "kind": self.kind,
        }

    def check_ids(self, ids: NDArray[np.int64]) -> None:
        """Refuses ids that the model has no embedding for: its tokenizer belongs to another model."""
        rows = int(self._module.get_input_embeddings().weight.shape[0])
        if len(ids) and int(ids.max()) >= rows:
            raise TiltmeterError(
                f"The tokenizer of {self.name} gives the id {int(ids.max()):,}, and the model has {rows:,} embeddings."
            )
