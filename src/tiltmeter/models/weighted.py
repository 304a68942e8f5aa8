"""Base class of models with weights: a name, a tokenizer, facts, and an identity for the caches."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models.capabilities import OF_KIND
from tiltmeter.models.fingerprint import Fingerprint
from tiltmeter.models.hashing import digest_json, relevant_in_memory
from tiltmeter.models.identity import UNKNOWN_CODE, ModelIdentity
from tiltmeter.models.placement import device_of
from tiltmeter.models.tokenization import Tokenization


class WeightedModel:
    """A Hugging Face module in evaluation mode, with its tokenizer, on one device, in one precision.

    `loaded_as` is the identity of the files that the module was loaded from, where it was loaded from files.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        module: Any,
        tokens: Tokenization,
        facts: dict[str, Any],
        loaded_as: ModelIdentity | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.tokens = tokens
        self.facts = facts
        self.loaded_as = loaded_as
        self._module = module
        self._state = self._look() if loaded_as else None
        self._fixed: ModelIdentity | None = None

    def __repr__(self) -> str:
        """Describe the model in one line."""
        return f"<{type(self).__name__} {self.name}: {self.kind}, {self.facts.get('architecture', 'unknown architecture')}>"

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities of its kind."""
        return OF_KIND[self.kind]

    @property
    def module(self) -> Any:
        """The Hugging Face module that answers."""
        return self._module

    @property
    def tokenizer(self) -> Any:
        """The Hugging Face tokenizer."""
        return self.tokens.tokenizer

    @property
    def precision(self) -> str:
        """fp32, tf32, bf16 or fp16."""
        return str(self.facts["precision"])

    @property
    def device(self) -> str:
        """Device: cpu, cuda or mps."""
        return str(device_of(self._module).type)

    @property
    def identity(self) -> ModelIdentity:
        """All facts that decide its answers now: a model in memory may be trained further.

        Each reading of a model that is `uncacheable` gives another one, so that none of its answers is found again.
        """
        return self._fixed or self._identify()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Compute the identity once for the block, in which the model must not change."""
        before, self._fixed = self._fixed, self.identity
        try:
            yield
        finally:
            self._fixed = before

    def _identify(self) -> ModelIdentity:
        now = Fingerprint(self._module)
        unknown = {UNKNOWN_CODE: uuid.uuid4().hex} if now.unknown_code else {}
        if self.loaded_as and not unknown and self._look(now) == self._state:
            return self.loaded_as
        generation = getattr(self._module, "generation_config", None)
        settings = [one.to_dict() for one in (self._module.config, generation) if one is not None]
        return ModelIdentity(
            weights=now.weights,
            config=digest_json([relevant_in_memory(one) for one in settings]),
            tokenizer=self.tokens.sha256,
            precision=self.precision,
            kind=self.kind,
            extra={
                "device": self.device,
                "max_length": str(self.tokens.max_length),
                "buffers": now.buffers,
                "modules": now.modules,
                **unknown,
            },
        )

    @property
    def uncacheable(self) -> str | None:
        """Reason why no answer may be cached: unidentified code takes part in the forward pass. None if there is none."""
        if self._fixed and UNKNOWN_CODE not in self._fixed.extra:
            return None
        return Fingerprint(self._module).unknown_code

    def _look(self, now: Fingerprint | None = None) -> tuple[Any, ...]:
        """Facts that change when a module is changed after it was loaded."""
        now = now or Fingerprint(self._module)
        return now.versions, now.modules, now.unknown_code, now.sample

    def check_ids(self, ids: NDArray[np.int64]) -> None:
        """Raise an error for ids without an embedding: the tokenizer belongs to another model."""
        rows = int(self._module.get_input_embeddings().weight.shape[0])
        if len(ids) and int(ids.max()) >= rows:
            raise ModelError(
                f"The tokenizer of {self.name} gives the id {int(ids.max()):,}, and the model has {rows:,} embeddings: it "
                "belongs to another model.",
                code="tokenizer-mismatch",
                model=self.name,
                tokens=int(ids.max()) + 1,
                embeddings=rows,
            )
