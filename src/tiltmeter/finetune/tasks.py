"""Training tasks: a task has rows, and gives the loss of some of them.

Masked, causal and labelled text are three; a method of debiasing writes its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.finetune.row_order import Ints
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.text_batches import head_logits

if TYPE_CHECKING:
    import torch

Drawn = Mapping[str, NDArray[Any]]
IGNORED = -100  # the label that torch's cross-entropy leaves out
CPU_TOKENS, GPU_TOKENS, GPU_LOGITS = 4096, 65_536, 2**29
"""In a piece, to begin with: enough to keep a device busy, and little enough for most."""


class Task(ABC):
    """Rows and their loss. Only `lengths` and `loss` must be there."""

    lengths: Ints
    """How many tokens each row has: rows of like length go together, and decide how many fit."""

    kinds: Ints | None = None
    """A number for each row, if a step is to have rows of one kind alone, and an epoch as many steps of each kind."""

    def piece_tokens(self, device: str) -> int:
        """Number of tokens to try at once; it is reduced if they do not fit."""
        return CPU_TOKENS if device == "cpu" else GPU_TOKENS // 4

    def draw(self, rows: Ints, random: np.random.Generator) -> Drawn:
        """Draw the random part of a step, such as masks: arrays whose first axis is that of the rows.

        Drawn once for a whole step, so that it does not depend on how the step is cut.
        """
        return {}

    def weight(self, rows: Ints, drawn: Drawn) -> float:
        """Weight of these rows in the mean that `loss` returns: their number, unless it is a mean over something else."""
        return float(len(rows))

    def prepare(self, pieces: Sequence[tuple[Ints, Drawn]]) -> None:  # noqa: B027
        """See all pieces of a step before the loss of each: for a loss that is no mean over rows. Default: nothing."""

    @abstractmethod
    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """The mean loss of these rows, with gradients."""


class _Text(Task):
    """Rows of token ids, and a loss at some of their positions. The head is computed nowhere else."""

    def __init__(self, module: Any, rows: Sequence[Sequence[int]], tokenizer: Any, *, causal: bool) -> None:
        self.rows = [np.asarray(row, dtype=np.int64) for row in rows]
        self.lengths = np.array([len(row) for row in self.rows], dtype=np.int64)
        self.parts = BodyAndHead(module.eval(), causal=causal)
        self.pad = tokenizer.pad_token_id or 0

    def piece_tokens(self, device: str) -> int:
        """Number of tokens that keeps a GPU busy with a small model."""
        return CPU_TOKENS if device == "cpu" else GPU_TOKENS

    def ids(self, rows: Ints) -> Ints:
        """Padded at the right."""
        found = np.full((len(rows), int(self.lengths[rows].max())), self.pad, dtype=np.int64)
        for n, row in enumerate(rows):
            found[n, : self.lengths[row]] = self.rows[row]
        return found

    def weight(self, rows: Ints, drawn: Drawn) -> float:
        """Number of the positions with a loss."""
        return float((drawn["wanted"] != IGNORED).sum())

    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """Mean cross-entropy over the positions with a loss."""
        import torch

        lengths = self.lengths[rows]
        width = int(lengths.max())
        ids, labels = drawn["ids"][:, :width], drawn["wanted"][:, :width]
        row, column = np.nonzero(labels != IGNORED)
        sites = self.parts.send_all(row, column, labels[row, column])
        hidden, _ = self.parts.body(ids, lengths, (sites[0], sites[1]), attention=False)
        return torch.nn.functional.cross_entropy(self.parts.head(hidden), sites[2])


class Masked(_Text):
    """A share of the tokens is predicted: 80 % of them become the mask, 10 % any word, 10 % stay (Devlin et al., 2019).

    Every row has at least one, so that none is read in vain.
    """

    def __init__(self, module: Any, rows: Sequence[Sequence[int]], tokenizer: Any, *, share: float = 0.15) -> None:
        super().__init__(module, rows, tokenizer, causal=False)
        self.share, self.mask = share, tokenizer.mask_token_id
        self.special = np.array(sorted(tokenizer.all_special_ids))
        words = np.setdiff1d(np.array(sorted(set(tokenizer.get_vocab().values()))), self.special)
        self.words = words[words < module.config.vocab_size]
        if self.mask is None:
            raise ModelError(
                "The tokenizer has no mask token, so this is not a masked language model.",
                code="missing-capability",
                needs="mask token",
            )

    def draw(self, rows: Ints, random: np.random.Generator) -> Drawn:
        """Draw the tokens to predict, and their replacements."""
        ids = self.ids(rows)
        chance, how = random.random(ids.shape), random.random(ids.shape)
        other = self.words[random.integers(len(self.words), size=ids.shape)]
        ordinary = (np.arange(ids.shape[1]) < self.lengths[rows][:, None]) & ~np.isin(ids, self.special)
        chance[~ordinary] = np.inf
        asked = (chance < self.share) | (chance == chance.min(1, keepdims=True))
        asked &= ordinary
        shown = np.where(how < 0.8, self.mask, np.where(how < 0.9, other, ids))
        return {"ids": np.where(asked, shown, ids), "wanted": np.where(asked, ids, IGNORED)}


class Causal(_Text):
    """Every token but the first is predicted from those before it."""

    def __init__(self, module: Any, rows: Sequence[Sequence[int]], tokenizer: Any) -> None:
        super().__init__(module, rows, tokenizer, causal=True)
        self.vocabulary = int(module.config.vocab_size)

    def piece_tokens(self, device: str) -> int:
        """Every position has scores of the whole vocabulary: 2 GiB of them."""
        return min(super().piece_tokens(device), max(1, GPU_LOGITS // self.vocabulary))

    def draw(self, rows: Ints, random: np.random.Generator) -> Drawn:
        """Nothing is random here."""
        ids = self.ids(rows)
        labels = np.full_like(ids, IGNORED)
        labels[:, :-1] = np.where(np.arange(1, ids.shape[1]) < self.lengths[rows][:, None], ids[:, 1:], IGNORED)
        return {"ids": ids, "wanted": labels}


class Labelled(Task):
    """A text has a label, which a classifier's head gives (a module such as AutoModelForSequenceClassification)."""

    def __init__(self, module: Any, rows: Sequence[Sequence[int]], labels: Sequence[int]) -> None:
        if len(rows) != len(labels):
            raise UsageError(
                f"{len(rows)} texts and {len(labels)} labels: there must be one for each.",
                code="wrong-shape",
                n_texts=len(rows),
                n_labels=len(labels),
            )
        self.module, self.rows = module, [np.asarray(row, dtype=np.int64) for row in rows]
        self.lengths = np.array([len(row) for row in self.rows], dtype=np.int64)
        self.labels = np.asarray(labels, dtype=np.int64)

    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """Mean cross-entropy of the labels."""
        import torch

        logits = head_logits(self.module, [self.rows[row] for row in rows])
        wanted = torch.from_numpy(self.labels[rows]).to(logits.device)
        return torch.nn.functional.cross_entropy(logits.float(), wanted)
