"""Embeddings of words in their sentences, in the layers of a model, and the directions that groups' words have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.debias.kit.in_context import Found, Occurrence
from tiltmeter.finetune.order import pieces

if TYPE_CHECKING:
    import torch

LAYERS = ("all", "first", "last")
PIECE = 4096


@dataclass(frozen=True)
class Layers:
    """Hidden states of a model, the input embeddings first; which of its layers count."""

    module: Any
    pad: int
    layer: str = "all"

    @property
    def device(self) -> torch.device:
        """Where it is."""
        device: torch.device = next(self.module.parameters()).device
        return device

    def states(self, some: Sequence[Occurrence]) -> tuple[torch.Tensor, torch.Tensor]:
        """Sentences × positions × layers × width, and which positions are no padding."""
        import torch

        lengths = np.array([len(one.ids) for one in some])
        valid = np.arange(int(lengths.max())) < lengths[:, None]
        ids = np.full(valid.shape, self.pad, dtype=np.int64)
        ids[valid] = np.concatenate([one.ids for one in some])
        given, mask = (torch.from_numpy(array).to(self.device) for array in (ids, valid))
        output = self.module.base_model(input_ids=given, attention_mask=mask.long(), output_hidden_states=True)
        return torch.stack(output.hidden_states, 2).float(), mask

    def chosen(self, states: torch.Tensor) -> torch.Tensor:
        """The layers that count; `first` are the input embeddings, as the published code has it."""
        at = {"all": slice(None), "first": slice(0, 1), "last": slice(-1, None)}[self.layer]
        return states[..., at, :]

    def of_words(self, some: Sequence[Occurrence]) -> torch.Tensor:
        """Words × layers × width: the mean over each word's positions."""
        import torch

        states, _ = self.states(some)
        chosen = self.chosen(states)
        return torch.stack([chosen[n, list(one.positions)].mean(0) for n, one in enumerate(some)])


def word_means(layers: Layers, some: Sequence[Occurrence]) -> dict[tuple[str, int], torch.Tensor]:
    """Layers × width for each word of each group: the mean over its sentences, without dropout and gradients."""
    import torch

    ordered = sorted(some, key=lambda one: -len(one.ids))
    sums: dict[tuple[str, int], torch.Tensor] = {}
    counts: dict[tuple[str, int], int] = {}
    was = layers.module.training
    layers.module.eval()
    with torch.no_grad():
        for cut in pieces(np.array([len(one.ids) for one in ordered]), PIECE):
            for one, vector in zip(ordered[cut], layers.of_words(ordered[cut]), strict=True):
                word = (one.word, one.group)
                sums[word] = sums[word] + vector if word in sums else vector
                counts[word] = counts.get(word, 0) + 1
    layers.module.train(was)
    return {word: sums[word] / counts[word] for word in sorted(sums)}


def group_means(means: dict[tuple[str, int], torch.Tensor]) -> torch.Tensor:
    """Groups × layers × width: the mean over each group's words."""
    import torch

    groups = sorted({group for _, group in means})
    return torch.stack([torch.stack([one for (_, of), one in means.items() if of == group]).mean(0) for group in groups])


def leaning(layers: Layers, found: Found) -> float:
    """Mean |cos| between stereotype words and the direction in which the first group's words differ from the second's."""
    import torch

    first, second = group_means(word_means(layers, found.attributes))[:2]
    words = torch.stack(list(word_means(layers, found.stereotypes).values()))
    return float(torch.nn.functional.cosine_similarity(words, (first - second)[None], dim=-1).abs().mean())


def kept(layers: Layers, before: Layers, attributes: Sequence[Occurrence]) -> float:
    """Mean cosine between attribute words as they are and as they were."""
    import torch

    now, then = (torch.stack(list(word_means(one, attributes).values())) for one in (layers, before))
    return float(torch.nn.functional.cosine_similarity(now, then, dim=-1).mean())
