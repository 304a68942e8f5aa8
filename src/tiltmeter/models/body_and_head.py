"""A language model in two halves: the body gives hidden states, the head projects them to the vocabulary.

Projecting every position to 30,000 or 150,000 words is how peers run out of memory. Only the positions that are
read go through the head here. Architectures name their heads differently, so the head is reached by one trick that
fits all: the model's own forward runs with its body replaced by the hidden states at hand. The split is tried
against the whole model when it is made; where it does not reproduce it, whole forward passes are used instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError

if TYPE_CHECKING:
    import torch

# Logits computed at once. On a CPU they should stay in its cache; on a GPU launching costs more than memory.
CPU_LOGITS = 2**22
GPU_LOGITS = 2**29


class BodyAndHead:
    """Splits a masked or causal language model at its last hidden state."""

    def __init__(self, module: Any, *, causal: bool) -> None:
        self.module = module
        self.options: dict[str, Any] = {"use_cache": False} if causal else {}
        self.device: torch.device = next(module.parameters()).device
        self._default_attention = getattr(module.config, "_attn_implementation", None)
        self.body_module = self._find_body()

    def _find_body(self) -> Any | None:
        """The submodule whose output the head reads: the base model, or its decoder (OPT)."""
        base = self.module.base_model
        candidates = [base, getattr(base, "decoder", None), getattr(self.module, "decoder", None)]
        for candidate in candidates:
            if candidate is not None and candidate is not self.module and self._reproduces(candidate):
                return candidate
        return None

    def _reproduces(self, candidate: Any) -> bool:
        import torch

        ids = torch.tensor([[5, 6, 7, 8, 9, 10]], device=self.device) % int(self.module.config.vocab_size)
        with torch.inference_mode():
            whole = self.module(input_ids=ids, **self.options).logits[0]
            try:
                hidden = candidate(input_ids=ids, **self.options).last_hidden_state
                split = self._head_of(candidate, hidden[0, 2:5])
            except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
                return False
        wanted = whole[2:5].float()
        # Half precision rounds differently for other shapes; a wrong head is off by orders more.
        tolerance = 1e-4 if whole.dtype == torch.float32 else 5e-2
        return split.shape == wanted.shape and torch.allclose(split, wanted, rtol=tolerance, atol=tolerance)

    def body(
        self, ids: torch.Tensor, lengths: torch.Tensor, attention: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Last hidden state (or, without a split, the logits), and the attention each position receives if asked."""
        import torch

        width = ids.shape[1]
        valid = torch.arange(width, device=ids.device) < lengths[:, None]
        padded = bool((lengths < width).any())
        options = {**self.options, "attention_mask": valid.long() if padded else None}
        if attention:
            return self._body_with_attention(ids, valid, options)
        return self._hidden(self._run(ids, options)), None

    def _run(self, ids: torch.Tensor, options: dict[str, Any]) -> Any:
        target = self.module if self.body_module is None else self.body_module
        return target(input_ids=ids, **options)

    def _hidden(self, output: Any) -> torch.Tensor:
        return output.logits if self.body_module is None else output.last_hidden_state  # type: ignore[no-any-return]

    def _body_with_attention(
        self, ids: torch.Tensor, valid: torch.Tensor, options: dict[str, Any]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Averages attention over layers, heads and the sentence's own query positions (padding asks nothing)."""
        self._set_attention("eager")
        try:
            output = self._run(ids, {**options, "output_attentions": True})
        finally:
            self._set_attention(self._default_attention)
        layers = output.attentions
        if not layers or layers[0] is None:
            raise TiltmeterError("AULA needs attention weights, and this model does not give them.")
        queries = valid[:, :, None]
        received = sum((layer.float().mean(1) * queries).sum(1) for layer in layers)
        return self._hidden(output), received / len(layers) / valid.sum(1, keepdim=True)

    def _set_attention(self, implementation: str | None) -> None:
        if implementation and self.module.config._attn_implementation != implementation:
            self.module.set_attn_implementation(implementation)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states of single positions to float32 logits."""
        return hidden.float() if self.body_module is None else self._head_of(self.body_module, hidden)

    def _head_of(self, body: Any, hidden: torch.Tensor) -> torch.Tensor:
        import torch
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions as Output

        body.forward = lambda *_, **__: Output(last_hidden_state=hidden[None])
        try:
            ids = torch.zeros((1, len(hidden)), dtype=torch.int64, device=hidden.device)
            return self.module(input_ids=ids, **self.options).logits[0].float()  # type: ignore[no-any-return]
        finally:
            del body.forward

    def chunks(self, n_sites: int) -> Iterator[tuple[int, int]]:
        """Ranges of sites whose logits are computed together."""
        budget = CPU_LOGITS if self.device.type == "cpu" else GPU_LOGITS
        size = max(1, budget // int(self.module.config.vocab_size))
        for first in range(0, n_sites, size):
            yield first, min(first + size, n_sites)
