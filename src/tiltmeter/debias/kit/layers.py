"""Embeddings of words in their sentences, in the layers of a model, and the directions that groups' words have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.debias.kit.word_positions import Found, Occurrence
from tiltmeter.models.text_batches import pieces

if TYPE_CHECKING:
    import torch

LAYERS = ("all", "first", "last")
PIECE = (4096, 65_536)
"""Tokens that are read at once, on a CPU and on a GPU."""


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
        states, _ = self.states(some)
        return self.at_words(self.chosen(states), some)

    def at_words(self, states: torch.Tensor, some: Sequence[Occurrence]) -> torch.Tensor:
        """Words × layers × width, from the states of their sentences. All at once: a GPU waits for every list of places."""
        import torch

        shares = np.zeros(tuple(states.shape[:2]), dtype=np.float32)
        for n, one in enumerate(some):
            shares[n, list(one.positions)] = 1 / len(one.positions)
        return (states * torch.from_numpy(shares).to(states.device)[:, :, None, None]).sum(1)


def word_means(layers: Layers, some: Sequence[Occurrence]) -> dict[tuple[str, int], torch.Tensor]:
    """Layers × width for each word of each group: the mean over its sentences, without dropout and gradients."""
    import torch

    ordered = sorted(some, key=lambda occurrence: -len(occurrence.ids))
    words = sorted({(one.word, one.group) for one in ordered})
    place = {word: n for n, word in enumerate(words)}
    which = torch.tensor([place[one.word, one.group] for one in ordered], device=layers.device)
    was = layers.module.training
    layers.module.eval()
    sums: torch.Tensor | None = None
    with torch.no_grad():
        for cut in pieces(np.array([len(one.ids) for one in ordered]), PIECE[layers.device.type == "cuda"]):
            vectors = layers.of_words(ordered[cut])
            sums = vectors.new_zeros((len(words), *vectors.shape[1:])) if sums is None else sums
            sums.index_add_(0, which[cut], vectors)
    layers.module.train(was)
    counts = torch.bincount(which, minlength=len(words))
    return {word: sums[n] / counts[n] for word, n in place.items()} if sums is not None else {}


def group_means(means: dict[tuple[str, int], torch.Tensor]) -> torch.Tensor:
    """Groups × layers × width: the mean over each group's words."""
    import torch

    groups = sorted({group for _, group in means})
    return torch.stack([torch.stack([one for (_, of), one in means.items() if of == group]).mean(0) for group in groups])


def occurrence_means(layers: Layers, some: Sequence[Occurrence]) -> torch.Tensor:
    """Groups × layers × width: the mean over all occurrences of each group's words."""
    return group_means(word_means(layers, [replace(one, word="") for one in some]))


def leaning(layers: Layers, occurrences: Found) -> float:
    """Mean |cos| between stereotype words and the direction in which the first group's words differ from the second's."""
    import torch

    first, second = group_means(word_means(layers, occurrences.attributes))[:2]
    words = torch.stack(list(word_means(layers, occurrences.stereotypes).values()))
    return float(torch.nn.functional.cosine_similarity(words, (first - second)[None], dim=-1).abs().mean())


def kept(layers: Layers, before: Layers, attributes: Sequence[Occurrence]) -> float:
    """Mean cosine between attribute words as they are and as they were."""
    import torch

    now, then = (torch.stack(list(word_means(one, attributes).values())) for one in (layers, before))
    return float(torch.nn.functional.cosine_similarity(now, then, dim=-1).mean())
