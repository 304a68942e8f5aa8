"""A model that answers: what is the log-probability and the rank of this token at this position?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models.capabilities import OF_KIND
from tiltmeter.models.forward_pass import evaluating, passing
from tiltmeter.models.identity import ModelIdentity
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.logits import LogProbabilities, count_larger
from tiltmeter.models.mask_filling import Ask, Filled, fill, logprobs
from tiltmeter.models.permutation import HiddenPositions, is_permuted
from tiltmeter.models.prefix_trees import RowLength
from tiltmeter.models.tokenization import Tokenization
from tiltmeter.models.tree_trials import stored_trial
from tiltmeter.models.weighted import WeightedModel

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Batch:
    """Padded sequences and what to read of them. A site is a (row, column); several tokens may be read at one site.

    `site_of_read` ascends. `block_*` ask for further tokens at a read's site, whose log-probabilities are averaged.
    `ends`: the prefix trees of a causal model's rows, as rows × columns (see `prefix_trees`); None if each row is one text.
    """

    ids: Ints
    lengths: Ints
    site_row: Ints
    site_column: Ints
    site_of_read: Ints
    token_of_read: Ints
    read_of_block: Ints
    token_of_block: Ints
    attention: bool = False
    ends: Ints | None = None


@dataclass(frozen=True)
class Answer:
    """One value per read; not-a-number where the model's output was not finite."""

    logprob: Floats
    rank: Ints
    block: Floats
    received: Floats | None = None


class LanguageModel(WeightedModel):
    """A masked or causal language model, ready for inference."""

    def __init__(
        self,
        name: str,
        kind: str,
        module: Any,
        tokens: Tokenization,
        facts: dict[str, Any],
        loaded_as: ModelIdentity | None = None,
    ) -> None:
        permuted = is_permuted(module.config)
        cls_id = getattr(tokens.tokenizer, "cls_token_id", None)
        with evaluating(module):
            self._parts = (
                HiddenPositions(module, tokens.mask_id, cls_id)
                if permuted
                else BodyAndHead(module, causal=kind == "causal", trial=stored_trial(loaded_as))
            )
        super().__init__(name, kind, module, tokens, facts, loaded_as)  # after a pass: quantised layers arrange themselves
        self.gives_attention = not permuted
        if kind == "causal":
            reason = self._parts.unshared
            self.facts = {**facts, "shared_prefixes": reason is None, **({"not_shared_because": reason} if reason else {})}

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities of its kind, chat if it has a template, attention unless it has two streams of it."""
        chats = self.kind == "causal" and bool(getattr(self.tokens.tokenizer, "chat_template", None))
        able = OF_KIND[self.kind] | ({"chat"} if chats else frozenset())
        return able if self.gives_attention else able - {"attention"}

    @cached_property
    def attention_cells(self) -> int:
        """Attention weights per pair of positions: layers × heads."""
        config = self._module.config
        return int(getattr(config, "num_hidden_layers", 1)) * int(getattr(config, "num_attention_heads", 1))

    @cached_property
    def token_bytes(self) -> int:
        """Memory of one token's activations: four of a layer's width, and three of its feed-forward part."""
        config = self._module.config.get_text_config()
        width = int(getattr(config, "hidden_size", 0) or 0)
        inner = int(getattr(config, "intermediate_size", 0) or getattr(config, "ffn_dim", 0) or 4 * width)
        return self._parts.dtype.itemsize * (4 * width + 3 * inner)

    @cached_property
    def layer_weights(self) -> int:
        """About how many weights of a layer each token is multiplied with."""
        width = int(getattr(self._module.config.get_text_config(), "hidden_size", 0) or 0)
        return width * self.token_bytes // self._parts.dtype.itemsize

    def read(self, batch: Batch) -> Answer:
        """One forward pass and everything that is read from it."""
        return self.begin(batch).answer()

    def begin(self, batch: Batch) -> Pending:
        """Start a pass. A GPU works on it while the caller continues; on a CPU it is done when this returns."""
        with passing(self.precision, self._module):
            return self._begin(batch)

    def fill(self, batch: Batch, ask: Ask) -> Filled:
        """One pass over sequences with masks, and what may fill them."""
        with passing(self.precision, self._module):
            return fill(self._parts, batch, ask)

    def logprobs(self, batch: Batch) -> Floats:
        """One pass, and the log-probability of every read."""
        with passing(self.precision, self._module):
            return logprobs(self._parts, batch)

    def logits_at(self, ids: Ints, columns: Ints, tokens: Ints) -> Floats:
        """One pass over rows of one length: rows × tokens, the logits of these tokens at one place of each row."""
        with passing(self.precision, self._module):
            rows, places, asked = self._parts.send_all(np.arange(len(ids)), columns, tokens)
            hidden, _ = self._parts.body(ids, np.full(len(ids), ids.shape[1]), (rows, places), False)
            parts = [self._parts.head_at(hidden[low:high], asked) for low, high in self._parts.chunks(len(ids))]
            return np.concatenate([part.cpu().numpy() for part in parts])

    @property
    def tree_rows(self) -> RowLength | None:
        """How long a row of prefix trees is; None if texts that begin alike cannot be read together."""
        return self._parts.tree_rows

    @property
    def joins(self) -> bool:
        """True if sequences of different lengths are read without padding."""
        return self._parts.joins

    @property
    def vocabulary(self) -> int:
        """Number of tokens it can predict."""
        return int(self._module.config.vocab_size)

    def _begin(self, batch: Batch) -> Pending:
        import torch

        again = _read_again(batch.site_of_read)
        rows, columns, sites, golds, once, twice, block_reads, block_golds, asked = self._parts.send_all(
            batch.site_row, batch.site_column, batch.site_of_read, batch.token_of_read, *again,
            batch.read_of_block, batch.token_of_block, np.unique(batch.read_of_block),
        )  # fmt: skip
        hidden, received = self._parts.body(batch.ids, batch.lengths, (rows, columns), batch.attention, batch.ends)
        logprob = torch.empty(len(golds), device=hidden.device)
        rank = torch.empty_like(logprob, dtype=torch.int64)
        block = torch.zeros_like(logprob)
        for first, last in self._parts.chunks(len(rows)):
            low, high = _range(batch.site_of_read, first, last)
            logits = self._parts.head_as_is(hidden[first:last])
            logprobs = LogProbabilities(logits)
            here = sites[low:high] - first
            picked = logits[here, golds[low:high]]
            logprob[low:high] = logprobs.at(here, golds[low:high])
            counted = [part[slice(*_range(ours, low, high))] - low for part, ours in zip((once, twice), again, strict=True)]
            rank[low:high] = 1 + count_larger(logits, here, picked, *counted)
            a, b = _range(batch.read_of_block, low, high)
            if b > a:
                where = sites[block_reads[a:b]] - first
                block.index_add_(0, block_reads[a:b], logprobs.at(where, block_golds[a:b]))
        means = torch.full_like(block, torch.nan)
        if len(asked):
            counts = torch.zeros_like(block).index_add_(0, block_reads, torch.ones_like(block_reads, dtype=block.dtype))
            means[asked] = block[asked] / counts[asked]
        attention = None if received is None else received[sites].float()
        return Pending(self._parts, self._parts.finished(), logprob, rank, means, attention)


@dataclass(frozen=True)
class Pending:
    """A pass that may still be running on its device."""

    parts: BodyAndHead
    finished: torch.cuda.Event | None
    logprob: torch.Tensor
    rank: torch.Tensor
    block: torch.Tensor
    received: torch.Tensor | None

    def answer(self) -> Answer:
        """Wait for it."""
        logprob, rank, block = (self.parts.fetch(tensor, self.finished) for tensor in (self.logprob, self.rank, self.block))
        received = None if self.received is None else self.parts.fetch(self.received, self.finished)
        return Answer(logprob, rank, block, received)


def _read_again(site_of_read: Ints) -> tuple[Ints, Ints]:
    """Reads that are the first at their site, and the others. Computed on the CPU, so that a GPU need not wait."""
    first = np.ones(len(site_of_read), dtype=bool)
    first[1:] = site_of_read[1:] != site_of_read[:-1]
    return np.flatnonzero(first), np.flatnonzero(~first)


def _range(ascending: Ints, low: int, high: int) -> tuple[int, int]:
    """Indices of the values in [low, high)."""
    first, last = np.searchsorted(ascending, (low, high))
    return int(first), int(last)


def require(model: LanguageModel, kind: str, what: str) -> None:
    """Raise an error if a masked view is requested of a causal model, or the other way round."""
    if model.kind != kind:
        raise ModelError(
            f"{what} needs a {kind} language model, but {model.name} is {model.kind}. "
            f"`tiltmeter list scorers` shows which scorers go with which kind.",
            code="wrong-model-kind",
            model=model.name,
            kind=model.kind,
            kinds=[kind],
        )
    if kind == "masked" and model.tokens.mask_id is None:
        raise ModelError(
            f"{what} needs a mask token, and the tokenizer of {model.name} has none.",
            code="missing-capability",
            model=model.name,
            needs="mask token",
        )
    if kind == "causal" and model.tokens.bos_id is None:
        raise ModelError(
            f"{what} needs a BOS or EOS token, and the tokenizer of {model.name} has neither.",
            code="missing-capability",
            model=model.name,
            needs="BOS or EOS token",
        )
