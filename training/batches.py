"""Batches made on the device, each from the seed and its own number alone, so that a resumed training sees the same ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tiltmeter.errors import TiltmeterError
from training.encoded import Encoded
from training.recipe import Recipe
from training.rows import sentence_rows, stream

IGNORED = -100  # the label that torch's cross-entropy leaves out


class Batches:
    """`batches(step)` gives the tensors of one step: windows of running text, and rows of single sentences."""

    def __init__(self, text: Encoded, tokenizer: Any, recipe: Recipe, device: str) -> None:
        self.recipe, self.device = recipe, device
        self._read_tokenizer(tokenizer)
        self._place(text)
        self.n_sentences = round(recipe.rows * recipe.sentences)
        self.n_windows = recipe.rows - self.n_sentences
        self.room = recipe.length - 2 * (recipe.objective == "masked")  # windows of a masked model get begin and end
        self.windows = max(0, (len(self.stream) - self.room) // self.room)  # one less than fit: they begin at any phase
        if self.windows < self.n_windows or len(self.sentences) < self.n_sentences:
            raise TiltmeterError(
                f"The text is too short for batches of {self.n_windows} windows of {recipe.length} tokens and "
                f"{self.n_sentences} rows of sentences: it gives {self.windows} and {len(self.sentences)}. "
                "Give more text, or fewer rows in the recipe."
            )

    def _read_tokenizer(self, tokenizer: Any) -> None:
        """GPT-2's one special token begins, ends and pads."""
        self.begin = tokenizer.bos_token_id if tokenizer.cls_token_id is None else tokenizer.cls_token_id
        self.end = tokenizer.eos_token_id if tokenizer.sep_token_id is None else tokenizer.sep_token_id
        self.pad = self.end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.mask = tokenizer.mask_token_id
        self.special = torch.tensor(sorted({self.begin, self.end, self.pad}), device=self.device)
        self.first_word = max(tokenizer.all_special_ids) + 1
        self.words = len(tokenizer)

    def _place(self, text: Encoded) -> None:
        """On the device, all of it: indexing there is what makes a batch cost nothing."""
        rows, segments = sentence_rows(text, self.recipe, self.begin, self.end, self.pad)
        self.stream, self.sentences, self.segments = (
            torch.from_numpy(array.astype(np.int32)).to(self.device) for array in (stream(text, self.end), rows, segments)
        )

    def __call__(self, step: int) -> dict[str, Tensor]:
        """`inputs`, `positions`, `allowed` (who sees whom), `labels`; of a masked model the `index` of what is asked."""
        windows, sentences = self._windows(step), self._sentences(step)
        tokens = torch.cat([windows, self.sentences[sentences]]).long()
        segments = torch.cat([torch.ones_like(windows), self.segments[sentences]])
        allowed = segments[:, :, None] == segments[:, None, :]
        if self.recipe.objective == "causal":
            asked = _causal(tokens, segments)
            allowed = allowed.tril()
        else:
            asked = self._masked(tokens, segments, self._random(step))
        return asked | {"positions": _positions(segments), "allowed": allowed[:, None]}

    def _random(self, *numbers: int) -> torch.Generator:
        seed = int(np.random.SeedSequence([self.recipe.seed, *numbers]).generate_state(1)[0])
        return torch.Generator(self.device).manual_seed(seed)

    @lru_cache(maxsize=2)  # noqa: B019  (one object lives as long as the training)
    def _order(self, kind: int, size: int, epoch: int) -> Tensor:
        return torch.randperm(size, generator=self._random(kind, epoch, 0), device=self.device)

    def _pick(self, kind: int, size: int, wanted: int, step: int) -> tuple[Tensor, int]:
        """Which rows of this kind, and the epoch: every row once, in an order of its own, before any comes again."""
        if not wanted:
            return torch.empty(0, dtype=torch.long, device=self.device), 0
        epoch, turn = divmod(step, size // wanted)
        return self._order(kind, size, epoch)[turn * wanted : (turn + 1) * wanted], epoch

    def _windows(self, step: int) -> Tensor:
        """Every epoch cuts the text at other places."""
        chosen, epoch = self._pick(0, self.windows, self.n_windows, step)
        phase = int(np.random.default_rng([self.recipe.seed, epoch]).integers(self.room))
        cut = self.stream[(chosen * self.room + phase)[:, None] + torch.arange(self.room, device=self.device)]
        if self.recipe.objective == "causal":
            return cut
        ends = [torch.full_like(cut[:, :1], token) for token in (self.begin, self.end)]
        return torch.cat([ends[0], cut, ends[1]], 1)

    def _sentences(self, step: int) -> Tensor:
        return self._pick(1, len(self.sentences), self.n_sentences, step)[0]

    def _masked(self, tokens: Tensor, segments: Tensor, random: torch.Generator) -> dict[str, Tensor]:
        """15 % of the positions: 80 % of them become the mask, 10 % any word, 10 % stay (Devlin et al., 2019).

        Their number is the same in every batch, since a compiled model wants one shape. It is counted over all positions and
        none falls on padding or a special token, so of the words slightly more than 15 % are asked.
        """
        chance = torch.rand(tokens.shape, generator=random, device=self.device)
        chance[(segments == 0) | torch.isin(tokens, self.special)] = -1
        index = chance.flatten().topk(int(self.recipe.masked_share * tokens.numel()), sorted=False).indices
        labels = tokens.flatten()[index]
        draw = torch.rand(index.shape, generator=random, device=self.device)
        word = torch.randint(self.first_word, self.words, index.shape, generator=random, device=self.device)
        shown = torch.where(draw < 0.8, self.mask, torch.where(draw < 0.9, word, labels))
        inputs = tokens.flatten().scatter(0, index, shown).view_as(tokens)
        return {"inputs": inputs, "index": index, "labels": labels}


def _causal(tokens: Tensor, segments: Tensor) -> dict[str, Tensor]:
    """Each token predicts the next one of its own sentence."""
    following = torch.roll(tokens, -1, 1)
    same = (torch.roll(segments, -1, 1) == segments) & (segments > 0)
    same[:, -1] = False
    return {"inputs": tokens, "labels": torch.where(same, following, IGNORED).flatten()}


def _positions(segments: Tensor) -> Tensor:
    """Counted from the beginning of each sentence."""
    place = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    begins = torch.nn.functional.pad(segments[:, 1:] != segments[:, :-1], (1, 0), value=True)
    return place - torch.where(begins, place, 0).cummax(1).values
