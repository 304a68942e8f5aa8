"""The objective of Auto-Debias (Guo et al. 2022): after a searched prompt, two groups' terms shall expect the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.debias.kit.divergence import divergence
from tiltmeter.debias.kit.prompt_sentences import Frame, Ints
from tiltmeter.finetune.tasks import Drawn, Task
from tiltmeter.models.lm_head import BodyAndHead

if TYPE_CHECKING:
    import torch

OVER = ("vocabulary", "words")


class Aligning(Task):
    """A row is one prompt behind both terms of one pair; its loss is how far their distributions are apart."""

    def __init__(
        self,
        module: Any,
        frame: Frame,
        prompts: Sequence[Sequence[int]],
        pad: int,
        *,
        over: str = "vocabulary",
        kind: str = "jensen-shannon",
        dropout: bool = False,
    ) -> None:
        self.parts = BodyAndHead(module.eval(), causal=False)
        self.sides = [
            [frame.row(terms[pair], prompt) for prompt in prompts for pair in range(frame.pairs)]
            for terms in (frame.first, frame.second)
        ]
        self.lengths = np.array([len(a) + len(b) for a, b in zip(*self.sides, strict=True)], dtype=np.int64)
        self.from_end, self.pad, self.kind, self.dropout = frame.mask_from_end, pad, kind, dropout
        self.words = self.parts.send(frame.words) if over == "words" else None

    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """The mean divergence, over the whole vocabulary or over the stereotype words alone.

        Dropout gives each side a network of its own. What it adds to the divergence is many times what the terms make of
        it, and is learned away at the cost of everything else; so there is none unless it is requested.
        """
        self.parts.module.train(self.dropout and self.parts.module.training)
        first, second = self._logits(rows).chunk(2)
        return divergence(first, second, self.kind).mean()

    def _logits(self, rows: Ints) -> torch.Tensor:
        """At the masks: those of the first group's sentences, then those of the second's."""
        sentences = [side[row] for side in self.sides for row in rows]
        lengths = np.array([len(one) for one in sentences], dtype=np.int64)
        ids = np.full((len(sentences), int(lengths.max())), self.pad, dtype=np.int64)
        for n, one in enumerate(sentences):
            ids[n, : len(one)] = one
        sites = self.parts.send_all(np.arange(len(sentences)), lengths - self.from_end)
        hidden, _ = self.parts.body(ids, lengths, (sites[0], sites[1]), attention=False)
        logits = self.parts.head(hidden)
        return logits if self.words is None else logits[:, self.words]
