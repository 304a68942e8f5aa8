"""Reading logits: log-probabilities where they are wanted, and ranks by counting what is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class LogProbabilities:
    """Float32 log-probabilities of all tokens, row by row. A row with an infinite logit, or none, gives no probabilities."""

    def __init__(self, logits: torch.Tensor) -> None:
        import torch

        self.logits = logits
        # Several times faster than logsumexp, for all that it writes down. A GPU widens float16 on the way, bfloat16 before.
        self.all = logits.log_softmax(1, dtype=torch.float32)

    def at(self, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Pick some of them; NaN in broken rows, which all sums of exponentials are, without a look at the vocabulary."""
        return self.all[rows, tokens]

    def total(self) -> torch.Tensor:
        """Offset of a row's logits from its log-probabilities."""
        return self.logits.amax(1).float() - self.all.amax(1)


def count_larger(
    logits: torch.Tensor, row: torch.Tensor, picked: torch.Tensor, first: torch.Tensor, again: torch.Tensor
) -> torch.Tensor:
    """Rank of each picked logit: the number of logits of its row that are strictly above it, without sorting.

    Every row is read at least once, most rows only once: copying the logits for those would cost as much as counting.
    `first` are the reads that are the first of their row, `again` the others.
    """
    if not len(again):
        return _larger(logits, picked)
    counts = row.clone()
    counts[first] = _larger(logits, picked[first])
    counts[again] = _larger(logits[row[again]], picked[again])
    return counts


def _larger(logits: torch.Tensor, picked: torch.Tensor) -> torch.Tensor:
    """Per row, how many are strictly larger. A CPU adds floats several times faster than it adds truth values."""
    import torch

    if logits.is_cuda:
        return (logits > picked[:, None]).sum(1)
    return torch.gt(logits, picked[:, None], out=torch.empty_like(logits)).sum(1).long()


def count_larger_of_many(logits: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Number of logits of its row that are strictly above each of many values.

    Every logit is looked up among the few sorted values of its row: the vocabulary itself is never sorted.
    """
    import torch

    n, m = values.shape
    ordered, order = values.sort(1)
    exceeds = torch.searchsorted(ordered, logits.contiguous(), out_int32=True)
    exceeds += torch.arange(n, dtype=torch.int32, device=logits.device)[:, None] * (m + 1)
    counts = torch.bincount(exceeds.flatten(), minlength=n * (m + 1)).view(n, m + 1)
    larger = counts.flip(1).cumsum(1).flip(1)[:, 1:]
    return torch.empty_like(larger).scatter_(1, order, larger)
