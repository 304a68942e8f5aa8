"""A model that writes: prompts in, texts out. What differs between causal and masked models ends here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.corpora.sentences import ABBREVIATION
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.forward_pass import passing
from tiltmeter.models.generation import Generated, Vocabulary, go_on, why_not
from tiltmeter.models.language_model import LanguageModel, require
from tiltmeter.models.masked_sampling import fill_up
from tiltmeter.models.sampling import Sampling, random_places, random_words

CLOSING = re.compile(r"[.!?…]+[\"')\]”’]*(?=\s|$)|\n")
CLOSERS = ".!?…\nĊ\"'”’)]"
"""Characters in a token that ends a sentence; byte-level tokenizers write a new line as Ċ."""
NUMBERED = re.compile(r"(?<!\d)\d{1,2}\.$")
"""A number of one or two digits and a full stop: the start of 3.5, or of a list."""
MOST_TOKENS = 2**21
"""In one batch, prompts and new tokens together."""
Draws = tuple[NDArray[np.int64], NDArray[np.int64]]


class Writer:
    """A language model and the way it samples. `chat`: an instruction around each prompt, for one with a chat template."""

    def __init__(self, model: LanguageModel, sampling: Sampling, chat: str | None = None) -> None:
        check_writer(model, chat)
        self.model, self.sampling, self.chat = model, sampling, chat
        self.tokenizer: Any = model.tokens.tokenizer

    @property
    def visits(self) -> int:
        """Random numbers that one text takes."""
        return self.sampling.new_tokens * (self.sampling.rounds if self.model.kind == "masked" else 1)

    @property
    def room(self) -> int:
        """Tokens of a sequence that are not the prompt's."""
        return self.sampling.new_tokens + (len(self.tail) if self.model.kind == "masked" else 0)

    def encode(self, prompts: Sequence[str]) -> list[tuple[int, ...]]:
        """Prompts as ids, with the beginning that the model is used to; a causal model's is BOS, as in all scores here."""
        if self.chat is not None:
            messages = [[{"role": "user", "content": self.chat.replace("{prompt}", prompt)}] for prompt in prompts]
            texts = [
                str(self.tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False))
                for message in messages
            ]
            return [one.ids for one in self.model.tokens.encode(texts, special=False)]
        if self.model.kind == "causal":
            begin = self.model.tokens.bos_id
            return [(int(begin or 0), *one.ids) for one in self.model.tokens.encode(prompts, special=False)]
        encoded = self.model.tokens.encode(prompts)
        return [one.ids[: max(one.content, default=-1) + 1] for one in encoded]

    def draws(self, seeds: Sequence[Sequence[int]]) -> Draws:
        """The random numbers of some texts, each from its own seeds alone: an order of visits, and a number for each."""
        rows = np.array(seeds, dtype=np.int64)
        numbers = random_places(rows, self.visits)
        if self.model.kind == "causal":
            return np.tile(np.arange(self.visits), (len(rows), 1)), numbers
        other = np.concatenate([rows, np.ones_like(rows[:, :1])], axis=1)
        keys = random_words(other, self.visits).reshape(len(rows), self.sampling.rounds, self.sampling.new_tokens)
        return keys.argsort(axis=2, kind="stable").reshape(len(rows), -1), numbers

    def write(self, prompts: Sequence[Sequence[int]], draws: Draws) -> list[Generated]:
        """One batch. Prompts of a masked model are equally long."""
        parts, (order, noise) = self.model._parts, draws
        with passing(self.model.precision, self.model._module):
            if self.model.kind == "causal":
                return go_on(parts, prompts, noise, self.sampling, self.words, self.are_ends)
            mask = int(self.model.tokens.mask_id or 0)
            return fill_up(parts, prompts, self.tail, (order, noise), self.sampling, self.words, mask)

    def texts_of(self, prompts: Sequence[Sequence[int]], said: Sequence[Sequence[int]]) -> list[str]:
        """Decode generated ids as they follow the prompt, with the space between. In a chat there is always a space."""
        if self.chat is not None:
            return [self._until_end(f" {text.strip()}") for text in self._decoded(said)]
        before = self._decoded(prompts)
        whole = self._decoded([[*prompt, *ids] for prompt, ids in zip(prompts, said, strict=True)])
        return [
            self._until_end(text[len(start) :] if text.startswith(start) else f" {self._plain(own)}")
            for start, text, own in zip(before, whole, said, strict=True)
        ]

    def _until_end(self, text: str) -> str:
        end = sentence_end(text) if self.sampling.sentence else None
        return text.rstrip() if end is None else text[:end].rstrip()

    def _decoded(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of ids; all at once where the tokenizer can, and where it tidies nothing up afterwards."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None or getattr(self.tokenizer, "clean_up_tokenization_spaces", False):
            return [self._plain(row) for row in rows]
        return [str(text) for text in backend.decode_batch([list(map(int, row)) for row in rows], skip_special_tokens=True)]

    def _plain(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def most_tokens(self) -> int | None:
        """Tokens whose keys and values fit into a third of a GPU's free memory; else None.

        Writing reads one token per row and step, so that small batches leave a GPU idle.
        """
        import torch

        config = self.model._module.config
        if self.model.device != "cuda" or self.model.kind != "causal":
            return None
        heads = int(getattr(config, "num_attention_heads", 0) or 0)
        if not heads:
            return None
        wide = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
        pairs = 2 * int(getattr(config, "num_key_value_heads", None) or heads) * wide * int(config.num_hidden_layers)
        free, _ = torch.cuda.mem_get_info()
        fitting = free // 3 // (pairs * next(self.model._module.parameters()).element_size())
        return int(min(MOST_TOKENS, max(1024, fitting)))

    def are_ends(self, said: Sequence[Sequence[int]]) -> list[bool]:
        """Return, for each row, True if its text so far ends a sentence."""
        return [sentence_end(text) is not None for text in self._decoded(said)]

    @cached_property
    def tail(self) -> tuple[int, ...]:
        """The special tokens behind a text."""
        if self.model.kind == "causal":
            return ()
        (one,) = self.model.tokens.encode(["a"])
        return one.ids[max(one.content, default=-1) + 1 :]

    @cached_property
    def words(self) -> Vocabulary:
        """Special tokens are not text, and embeddings beyond the tokenizer's vocabulary are nothing at all."""
        tokens, size = self.model.tokens, self.model.vocabulary
        stop = frozenset(self._stops()) if self.model.kind == "causal" else frozenset()
        known = sorted(id_ for id_ in set(self.tokenizer.get_vocab().values()) if id_ < size)
        never = {*range(size)}.difference(known).union(tokens.special_ids)
        never.update(id_ for id_ in (tokens.unknown_id,) if id_ is not None)
        banned = np.array(sorted(id_ for id_ in never - stop if id_ < size), dtype=np.int64)
        closing = np.zeros(size, dtype=bool)
        closing[known] = [any(sign in text for sign in CLOSERS) for text in tokens.token_strings(known)]
        return Vocabulary(banned, stop, closing)

    def _stops(self) -> list[int]:
        """Ends of a text: the tokenizer's, and those that the model's own settings for generating name."""
        settings = getattr(self.model._module, "generation_config", None)
        named = getattr(settings, "eos_token_id", None)
        ids = [self.tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
        return [int(id_) for id_ in ids if id_ is not None]


def check_writer(model: LanguageModel, chat: str | None = None) -> None:
    """Raise an error for a model that cannot generate, or that lacks a chat template where one is needed."""
    if reason := why_not(model._module):
        raise ModelError(
            f"{model.name} cannot generate: {reason}.",
            code="missing-capability",
            model=model.name,
            needs="text generation",
            reason=reason,
        )
    require(model, model.kind, "Generating")
    if chat is None:
        return
    if "chat" not in model.capabilities:
        raise ModelError(
            f"--chat needs a model with a chat template, and {model.name} has none.",
            code="missing-capability",
            model=model.name,
            needs="chat template",
        )
    if "{prompt}" not in chat:
        raise UsageError(
            "The instruction of --chat must contain {prompt}, the place of the prompt.",
            code="wrong-format",
            name="chat",
            value=chat,
        )


def sentence_end(text: str) -> int | None:
    """End of the first sentence, after its full stop or at a new line; None if it does not end.

    >>> sentence_end(" by Dr. Hill in 1999. Then"), sentence_end(" of the U.S. and 3.5"), sentence_end(" he is")
    (21, None, None)
    """
    begun = len(text) - len(text.lstrip())
    for sign in CLOSING.finditer(text, begun):
        if sign[0] == "\n":
            return sign.start()
        upto = text[: sign.end()]
        if not ABBREVIATION.search(upto[-8:]) and not NUMBERED.search(upto):
            return sign.end()
    return None
