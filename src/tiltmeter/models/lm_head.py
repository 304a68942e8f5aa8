"""A language model in two halves: the body gives hidden states, the head projects them to the vocabulary.

Projecting every position to 30,000 or 150,000 words is how peers run out of memory. Only the positions that are
read go through the head here. Architectures name their heads differently, so the head is reached by one trick that
fits all: the model's own forward runs with its body replaced by the hidden states at hand. The split is tried
against the whole model when it is made; where it does not reproduce it, whole forward passes are used instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models import packed_sequences
from tiltmeter.models.forward_pass import evaluating, forwarding
from tiltmeter.models.fused_norms import find_norms, fused
from tiltmeter.models.placement import device_of, dtype_of
from tiltmeter.models.prefix_trees import RowLength, reason_against, row_length, tree_options

if TYPE_CHECKING:
    import torch

CPU_LOGITS, GPU_LOGITS = 2**22, 2**28
"""Logits computed at once: enough to keep a device busy, little enough to keep memory small (16 MiB and 1 GiB as float32).
With their log-probabilities and comparisons that is at most 2.3 GiB of a GPU, in bfloat16 2.5 GiB: they are widened."""
SHORT = 64
Sites = tuple[Any, Any]  # rows and columns, as tensors


class BodyAndHead:
    """Splits a masked or causal language model at its last hidden state."""

    def __init__(self, module: Any, *, causal: bool, trial: Callable[[BodyAndHead], str | None] = reason_against) -> None:
        self.module = module
        self.options: dict[str, Any] = {"use_cache": False} if causal else {}
        self.device: torch.device = device_of(module)
        self.stream = _side_stream(self.device)
        self._default_attention = getattr(module.config, "_attn_implementation", None)
        if "attention_mask" not in inspect.signature(module.forward).parameters:
            raise ModelError(
                f"{type(module).__name__} takes no attention mask, so padding would change its answers.",
                code="unsupported-model",
                model=type(module).__name__,
            )
        self.body_module = self._find_body()
        self.last_layer = self._find_last_layer()
        self.norms = find_norms(module) if self.device.type == "cuda" else []
        # Causal models need masks of another form, and on a CPU there is nothing to wait for.
        with evaluating(module):  # dropout would make equal ways look different
            self.ready_masks = {
                attention: self.stream is not None and not causal and self.takes_ready_masks(attention)
                for attention in (False, True)
            }
            self.unshared = trial(self) if causal else "it is not causal"
            self.first_position = self._takes_joined() if self.stream is not None and not causal else None

    @property
    def tree_rows(self) -> RowLength | None:
        """How long a row of prefix trees is; None if it cannot read any."""
        return None if self.unshared else row_length(self.module.config, self.device.type)

    @property
    def dtype(self) -> torch.dtype:
        """Data type of its states."""
        return dtype_of(self.module)

    @property
    def joins(self) -> bool:
        """True if sequences are packed into one row, without padding."""
        return self.first_position is not None

    def _takes_joined(self) -> int | None:
        pad = getattr(self.module.config, "pad_token_id", None)
        return packed_sequences.first_position(self, pad) if packed_sequences.register() else None

    def _find_body(self) -> Any | None:
        """The submodule whose output the head reads: the base model, or its decoder (OPT)."""
        base = self.module.base_model
        candidates = [base, getattr(base, "decoder", None), getattr(self.module, "decoder", None)]
        for candidate in candidates:
            if candidate is not None and candidate is not self.module and self._reproduces(candidate):
                return candidate
        return None

    def _find_last_layer(self) -> Any | None:
        """The last layer, if it is one of BERT's make: attention, then `feed_forward_chunk` for each position alone."""
        layers = getattr(getattr(self.body_module, "encoder", None), "layer", None)
        last = layers[-1] if layers else None
        ours = hasattr(last, "feed_forward_chunk") and not getattr(last, "chunk_size_feed_forward", 0)
        return last if ours else None

    def _reproduces(self, candidate: Any) -> bool:
        import torch

        ids = torch.tensor([[5, 6, 7, 8, 9, 10]], device=self.device) % int(self.module.config.vocab_size)
        with torch.inference_mode():
            whole = self.module(input_ids=ids, **self.options).logits[0]
            try:
                hidden = candidate(input_ids=ids, **self.options).last_hidden_state
                split = self._head_of(candidate, hidden[0, 2:5]).float()
            except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
                return False
        wanted = whole[2:5].float()
        # Half precision rounds differently for other shapes; a wrong head is off by orders more.
        tolerance = 1e-4 if whole.dtype == torch.float32 else 5e-2
        return split.shape == wanted.shape and torch.allclose(split, wanted, rtol=tolerance, atol=tolerance)

    def send(self, array: NDArray[Any]) -> torch.Tensor:
        """An array on the device. On a GPU by a stream of its own, so that copying does not wait for computing."""
        import torch

        if self.stream is None:
            return torch.from_numpy(array).to(self.device)
        computing = torch.cuda.current_stream(self.device)
        with torch.cuda.stream(self.stream):
            tensor = torch.from_numpy(array).to(self.device)
        computing.wait_stream(self.stream)
        tensor.record_stream(computing)
        return tensor

    def send_all(self, *arrays: NDArray[np.int64]) -> list[torch.Tensor]:
        """Several arrays in one go: each transfer has its price."""
        whole = self.send(np.concatenate(arrays))
        sizes = [len(array) for array in arrays]
        return list(whole.split(sizes))  # type: ignore[no-untyped-call]

    def finished(self) -> torch.cuda.Event | None:
        """Record an event after all work submitted to the device so far."""
        import torch

        return None if self.stream is None else torch.cuda.current_stream(self.device).record_event()

    def fetch(self, tensor: torch.Tensor, finished: torch.cuda.Event | None) -> NDArray[Any]:
        """A result as an array, once that mark is reached; later work goes on meanwhile."""
        import torch

        if self.stream is None or finished is None:
            return tensor.cpu().numpy()
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(finished)
            return tensor.cpu().numpy()

    def body(
        self,
        ids: NDArray[np.int64],
        lengths: NDArray[np.int64],
        sites: Sites,
        attention: bool,
        ends: NDArray[np.int64] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Hidden states at the sites (without a split, the logits there), and the attention they receive if requested.

        `ends`: the prefix trees of the rows (see `prefix_trees`).
        """
        valid = np.arange(ids.shape[1]) < lengths[:, None]
        if self.joins and ends is None and not attention and not _learning():
            return self._body_joined(ids, lengths, valid, sites), None
        if ends is None:
            options = {**self.options, "attention_mask": self._mask(valid, attention)}
        else:
            options = {**self.options, **tree_options(self.send(ends), self.dtype)}
        with self._last_layer_at(sites, ids.size), short_attention(self.device, ids.shape[1]):
            hidden, received = self._states(self.send(ids), self.send(valid) if attention else None, options, attention)
            return _at(hidden, sites), None if received is None else _at(received, sites)

    def _body_joined(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], valid: NDArray[np.bool_], sites: Sites
    ) -> torch.Tensor:
        """Hidden states at the sites, from packed sequences without padding."""
        starts = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)[valid]
        tokens, counted, begins = self.send_all(ids[valid], positions, starts)
        row = packed_sequences.Joined(tokens, counted, begins, int(lengths.max()))
        places = row.at(*sites)
        with self._last_layer_at(places, int(starts[-1])):
            return self.hidden_joined(row, self.first_position or 0)[places]

    def hidden_joined(self, row: packed_sequences.Joined, first_position: int) -> torch.Tensor:
        """Hidden states of sequences one behind the other: 1 × tokens × width."""
        self._set_attention(packed_sequences.NAME)
        try:
            with packed_sequences.attending_to(row):
                return self.hidden_of(row.ids[None], {"position_ids": row.positions[None] + first_position})
        finally:
            self._set_attention(self._default_attention)

    def _states(
        self, ids: torch.Tensor, valid: torch.Tensor | None, options: dict[str, Any], attention: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if attention:
            assert valid is not None
            return self._body_with_attention(ids, valid, options)
        return self._hidden(self._run(ids, options)), None

    def _mask(self, valid: NDArray[np.bool_], attention: bool) -> torch.Tensor | None:
        """Attention mask of the batch; None without padding, which allows faster kernels.

        A plain mask makes transformers look whether it masks anything, for which a GPU must finish all its work; one
        made ready for every query position is taken as it is.
        """
        if valid.all():
            return None
        if not self.ready_masks[attention]:
            return self.send(valid.astype(np.int64))
        return self._ready_mask(self.send(valid), attention)

    def _ready_mask(self, valid: torch.Tensor, attention: bool) -> torch.Tensor:
        """The kernels that give attention weights add their mask, the others look which positions are true in it."""
        ready = ready_mask(valid)
        if not attention:
            return ready
        import torch

        return torch.zeros_like(ready, dtype=self.dtype).masked_fill_(~ready, torch.finfo(self.dtype).min)

    def takes_ready_masks(self, attention: bool) -> bool:
        """Return True if a prepared 4-D mask gives the same states as a plain one."""
        import torch

        ids = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]], device=self.device) % int(self.module.config.vocab_size)
        valid = torch.tensor([[True] * 4, [True, True, False, False]], device=self.device)
        with torch.inference_mode():
            try:
                plain, ready = (
                    self._states(ids, valid, {**self.options, "attention_mask": mask}, attention)[0][valid].float()
                    for mask in (valid.long(), self._ready_mask(valid, attention))
                )
            except (AttributeError, TypeError, RuntimeError, ValueError, IndexError, TiltmeterError):
                return False
        return bool(torch.allclose(plain, ready, rtol=1e-4, atol=1e-4 * float(plain.abs().max())))

    @contextmanager
    def _last_layer_at(self, sites: Sites, n_positions: int) -> Iterator[None]:
        """Compute the last feed-forward layer only at the sites: what it gives elsewhere is never read.

        With one read per sequence this spares most of a layer. For encoders of BERT's make; others run as they are.
        """
        if self.last_layer is None or 2 * len(sites[0]) > n_positions:
            yield
            return
        whole = self.last_layer.feed_forward_chunk

        def partly(states: torch.Tensor) -> torch.Tensor:
            result = states.new_zeros(states.shape)
            result[sites] = whole(states[sites])
            return result

        self.last_layer.feed_forward_chunk = partly
        try:
            yield
        finally:
            del self.last_layer.feed_forward_chunk

    def _run(self, ids: torch.Tensor, options: dict[str, Any]) -> Any:
        target = self.module if self.body_module is None else self.body_module
        with fused(self.norms):
            return target(input_ids=ids, **options)

    def hidden_of(self, ids: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
        """Hidden states (without a split, logits) at all positions."""
        return self._hidden(self._run(ids, {**self.options, **options}))

    def layers_of(self, ids: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
        """Float32 states behind each layer at all positions, the last one as `hidden_of` gives it; that alone if need be."""
        import torch

        output = self._run(ids, {**self.options, **options, "output_hidden_states": True})
        layers = [*(getattr(output, "hidden_states", None) or ())[:-1], self._hidden(output)]
        if self.body_module is None or any(layer.shape != layers[-1].shape for layer in layers):
            layers = layers[-1:]
        return torch.stack([layer.float().to(self.device) for layer in layers])

    def _hidden(self, output: Any) -> torch.Tensor:
        return output.logits if self.body_module is None else output.last_hidden_state  # type: ignore[no-any-return]

    def _body_with_attention(
        self, ids: torch.Tensor, valid: torch.Tensor, options: dict[str, Any]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Average attention over layers, heads and the sentence's own query positions (padding asks nothing)."""
        self._set_attention("eager")
        try:
            output = self._run(ids, {**options, "output_attentions": True})
        finally:
            self._set_attention(self._default_attention)
        layers = output.attentions
        if not layers or layers[0] is None:
            raise ModelError(
                "AULA needs attention weights, and this model does not give them.",
                code="missing-capability",
                needs="attention weights",
            )
        queries = valid[:, :, None]
        received = sum((layer.float().mean(1) * queries).sum(1) for layer in layers)
        return self._hidden(output), received / len(layers) / valid.sum(1, keepdim=True)

    def _set_attention(self, implementation: str | None) -> None:
        if implementation and self.module.config._attn_implementation != implementation:
            self.module.set_attn_implementation(implementation)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states of single positions to float32 logits."""
        return self.head_as_is(hidden).float()

    def head_as_is(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits of the model's own data type on a GPU, where reading them takes longer than computing with them."""
        logits = hidden if self.body_module is None else self._head_of(self.body_module, hidden)
        return logits if logits.is_cuda else logits.float()

    def head_at(self, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Float32 logits of some tokens alone. Where the last projection is a plain one, the others are not computed."""
        import torch

        last: Any = self.module.get_output_embeddings()
        if self.body_module is None or not _is_plain(last):
            return self.head(hidden)[:, tokens]
        weight, bias = last.weight[tokens], None if last.bias is None else last.bias[tokens]
        with forwarding(last, lambda states: torch.nn.functional.linear(states, weight, bias)):
            return self.head(hidden)

    def _head_of(self, body: Any, hidden: torch.Tensor) -> torch.Tensor:
        import torch
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions as Output

        with forwarding(body, lambda *_, **__: Output(last_hidden_state=hidden[None])):
            ids = torch.zeros((1, len(hidden)), dtype=torch.int64, device=hidden.device)
            return self.module(input_ids=ids, **self.options).logits[0]  # type: ignore[no-any-return]

    def chunks(self, n_sites: int) -> Iterator[tuple[int, int]]:
        """Ranges of sites whose logits are computed together."""
        budget = CPU_LOGITS if self.device.type == "cpu" else GPU_LOGITS
        size = max(1, budget // int(self.module.config.vocab_size))
        for first in range(0, n_sites, size):
            yield first, min(first + size, n_sites)


def _at(states: torch.Tensor, sites: Sites) -> torch.Tensor:
    """States at the sites, on the device of the sites: the last layer may be on another one."""
    rows, columns = sites
    return states[rows.to(states.device), columns.to(states.device)].to(rows.device)


def _is_plain(projection: Any) -> bool:
    import torch

    return type(projection) is torch.nn.Linear and not hasattr(projection, "_hf_hook")


def _learning() -> bool:
    import torch

    return torch.is_grad_enabled()


def _side_stream(device: torch.device) -> torch.cuda.Stream | None:
    import torch

    return torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]


def ready_mask(valid: torch.Tensor) -> torch.Tensor:
    """Sequence × 1 × query × key: every query may attend to every valid position."""
    n, width = valid.shape
    return valid[:, None, None, :].expand(n, 1, width, width)


@contextmanager
def short_attention(device: torch.device, width: int) -> Iterator[None]:
    """Use kernels with small tiles for short sequences on a GPU: large tiles spend most of their work on padding."""
    if device.type != "cuda" or width > SHORT:
        yield
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        yield
