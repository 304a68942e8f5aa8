"""A model that answers: what is the log-probability and the rank of this token at this position?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.body_and_head import BodyAndHead
from tiltmeter.models.tokenization import Tokenization

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


class OutOfMemoryError(Exception):
    """The batch did not fit; a smaller one may."""


@dataclass(frozen=True)
class Batch:
    """Padded sequences and what to read of them. A site is a (row, column); several tokens may be read at one site.

    `site_of_read` ascends. `block_*` ask for further tokens at a read's site, whose log-probabilities are averaged.
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


@dataclass(frozen=True)
class Answer:
    """One value per read; not-a-number where the model's output was not finite."""

    logprob: Floats
    rank: Ints
    block: Floats
    received: Floats | None = None


class LanguageModel:
    """A Hugging Face model in evaluation mode, with its tokenizer, on one device, in one precision."""

    def __init__(self, name: str, kind: str, module: Any, tokens: Tokenization, facts: dict[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.tokens = tokens
        self.facts = facts
        self._module = module
        self._parts = BodyAndHead(module, causal=kind == "causal")

    @property
    def weights_hash(self) -> str:
        """Fingerprint of weights and configuration."""
        return str(self.facts["weights_sha256"])

    @property
    def precision(self) -> str:
        """fp32, tf32, bf16 or fp16."""
        return str(self.facts["precision"])

    @property
    def device(self) -> str:
        """Where it runs: cpu, cuda, mps."""
        return str(self._parts.device.type)

    @cached_property
    def attention_cells(self) -> int:
        """Attention weights per pair of positions: layers × heads."""
        config = self._module.config
        return int(config.num_hidden_layers) * int(config.num_attention_heads)

    def read(self, batch: Batch) -> Answer:
        """One forward pass and everything that is read from it."""
        import torch

        with torch.inference_mode(), _matmul_precision(self.precision):
            try:
                return self._read(batch)
            except torch.OutOfMemoryError as error:
                raise OutOfMemoryError(str(error)) from None
            except RuntimeError as error:
                if "can't allocate memory" in str(error):  # how the CPU allocator puts it
                    raise OutOfMemoryError(str(error)) from None
                raise

    def _read(self, batch: Batch) -> Answer:
        import torch

        device = self._parts.device
        rows, columns, sites, golds, block_reads, block_golds = (
            torch.from_numpy(array).to(device)
            for array in (
                batch.site_row, batch.site_column, batch.site_of_read, batch.token_of_read,
                batch.read_of_block, batch.token_of_block,
            )
        )  # fmt: skip
        hidden, received = self._parts.body(
            torch.from_numpy(batch.ids).to(device), torch.from_numpy(batch.lengths).to(device), batch.attention
        )
        hidden = hidden[rows, columns]
        logprob = torch.empty(len(golds), device=device)
        rank = torch.empty(len(golds), device=device, dtype=torch.int64)
        block = torch.full((len(golds),), torch.nan, device=device)
        for first, last in self._parts.chunks(len(rows)):
            low, high = (int(edge) for edge in np.searchsorted(batch.site_of_read, (first, last)))
            logits = self._parts.head(hidden[first:last])
            total = _log_total(logits)
            here = sites[low:high] - first
            picked = logits[here, golds[low:high]]
            logprob[low:high] = picked - total[here]
            rank[low:high] = 1 + _count_larger(logits, here, picked)
            a, b = (int(edge) for edge in np.searchsorted(batch.read_of_block, (low, high)))
            if b > a:
                _fill_block(block, logits, total, sites, first, block_reads[a:b], block_golds[a:b])
        attention = None if received is None else received[rows, columns][sites].float().cpu().numpy()
        return Answer(logprob.cpu().numpy(), rank.cpu().numpy(), block.cpu().numpy(), attention)


def _log_total(logits: torch.Tensor) -> torch.Tensor:
    """log Σ exp(logit); not a number where any logit is not finite, so that nothing odd passes for a probability."""
    total = logits.logsumexp(1)
    return total.masked_fill(~total.isfinite(), float("nan"))


def _count_larger(logits: torch.Tensor, row: torch.Tensor, picked: torch.Tensor) -> torch.Tensor:
    """How many logits of its row each picked one is strictly below: its rank without sorting the vocabulary.

    Most rows are read once; copying the logits for those would cost as much as the counting.
    """
    import torch

    if len(row) == len(logits):  # each site has at least one read, so the reads are the rows
        return (logits > picked[:, None]).sum(1)
    counts = torch.empty(len(row), dtype=torch.int64, device=row.device)
    first_read = torch.ones_like(row, dtype=torch.bool)
    first_read[1:] = row[1:] != row[:-1]
    counts[first_read] = (logits > picked[first_read][:, None]).sum(1)
    again = ~first_read
    counts[again] = (logits[row[again]] > picked[again][:, None]).sum(1)
    return counts


def _fill_block(
    block: torch.Tensor,
    logits: torch.Tensor,
    total: torch.Tensor,
    sites: torch.Tensor,
    first: int,
    reads: torch.Tensor,
    golds: torch.Tensor,
) -> None:
    """Mean log-probability of all of a read's block tokens at its site."""
    import torch

    here = sites[reads] - first
    values = logits[here, golds] - total[here]
    sums = torch.zeros_like(block).index_add_(0, reads, values)
    counts = torch.zeros_like(block).index_add_(0, reads, torch.ones_like(values))
    asked = counts > 0
    block[asked] = sums[asked] / counts[asked]


class _matmul_precision:  # noqa: N801 — reads as a verb in `with`
    """Sets how float32 products are computed for the length of a pass, and puts the old setting back."""

    def __init__(self, precision: str) -> None:
        self.wanted = "high" if precision == "tf32" else "highest"

    def __enter__(self) -> None:
        import torch

        self.before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.wanted)

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_float32_matmul_precision(self.before)


def require(model: LanguageModel, kind: str, what: str) -> None:
    """Refuses to ask a causal model for a masked view, and the other way round."""
    if model.kind != kind:
        raise TiltmeterError(
            f"{what} needs a {kind} language model, but {model.name} is {model.kind}. "
            f"`tiltmeter list scorers` shows which scorers go with which kind."
        )
    if kind == "masked" and model.tokens.mask_id is None:
        raise TiltmeterError(f"{what} needs a mask token, and the tokenizer of {model.name} has none.")
    if kind == "causal" and model.tokens.bos_id is None:
        raise TiltmeterError(f"{what} needs a BOS or EOS token, and the tokenizer of {model.name} has neither.")
