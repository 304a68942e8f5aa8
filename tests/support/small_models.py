"""Language models for the small server: one of word counts that answers in microseconds, and any causal model."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

BOS = "<|endoftext|>"
PIECES = re.compile(r"<\|endoftext\|>| ?[A-Za-z]+| ?[^A-Za-z\s]|\s")
TEXT = (
    "The nurse said she was late for work. The nurse said he was late for work. My neighbour moved here many years ago "
    "with two small children. She worked at the hospital, and in the evenings she taught other people to read and write. "
    "Everyone in our street liked her, and when she was ill somebody cooked for her every day. Answer: A "
    "Answer: B Answer: C Is it true? yes no The colour is blue. toxic harmless"
)


class Model(Protocol):
    """What the small server needs of a model: tokens of a text, and the distribution of the token behind some tokens."""

    window: int

    def tokenize(self, text: str) -> list[str]: ...
    def rows(self, tokens: Sequence[str]) -> list[Mapping[str, float]]: ...
    def id_of(self, token: str) -> int: ...


class CountModel:
    """Word bigrams of a short text, smoothed by unigrams and, for words it does not know, by characters."""

    window = 400

    def __init__(self) -> None:
        pieces = PIECES.findall(TEXT)
        characters = [chr(code) for code in range(32, 127)]
        self.known = dict.fromkeys([BOS, *pieces, *characters, *(f" {sign}" for sign in characters)])
        self.ids = {token: number for number, token in enumerate(self.known)}
        self.single = Counter(pieces)
        self.pairs: dict[str, Counter[str]] = defaultdict(Counter)
        for before, after in pairwise(pieces):
            self.pairs[before][after] += 1

    def tokenize(self, text: str) -> list[str]:
        """Known pieces, else their characters."""
        found = []
        for piece in PIECES.findall(text):
            found += [piece] if piece in self.known else list(piece)
        return found

    def id_of(self, token: str) -> int:
        """A number for every token."""
        return self.ids.get(token, 10_000 + sum(map(ord, token)))

    def rows(self, tokens: Sequence[str]) -> list[Mapping[str, float]]:
        """For each token, the log-probabilities of what may follow it."""
        return [self.row(token) for token in tokens]

    @lru_cache(maxsize=2048)  # noqa: B019
    def row(self, before: str) -> Mapping[str, float]:
        """Log-probabilities behind one token, no two of them equal: as of a real model."""
        pairs, size = self.pairs.get(before, Counter()), len(self.known)
        n_pairs, n_single = sum(pairs.values()), sum(self.single.values())
        weight = 0.6 if n_pairs else 0.0
        return _Counts(
            {
                token: math.log(
                    weight * (pairs[token] / n_pairs if n_pairs else 0.0)
                    + (0.9 - weight) * self.single[token] / n_single
                    + 0.1 / size
                )
                - 1e-6 * zlib.crc32(f"{before}\0{token}".encode()) / 2**32
                for token in self.known
            }
        )


class _Counts(dict[str, float]):
    """A row in which signs that were never counted are possible, too."""

    def __missing__(self, token: str) -> float:
        return -12.0


class CausalModel:
    """A causal model of transformers, in float32."""

    def __init__(self, folder: str | Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval().float()
        self.window = int(self.model.config.max_position_embeddings)
        self.cache: dict[tuple[int, ...], list[Mapping[str, float]]] = {}

    @cached_property
    def strings(self) -> list[str]:
        """The text of every token."""
        return [self.tokenizer.decode([number]) for number in range(len(self.tokenizer))]

    def ids_of(self, text: str) -> list[int]:
        """Ids of a text; special tokens that are spelled out count as such."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def tokenize(self, text: str) -> list[str]:
        """Texts of the tokens."""
        return [_Token(self.strings[number], number) for number in self.ids_of(text)]

    def id_of(self, token: str) -> int:
        """The id that a token came from."""
        return token.number if isinstance(token, _Token) else self.ids_of(token)[0]

    def rows(self, tokens: Sequence[str]) -> list[Mapping[str, float]]:
        """For each token, the log-probabilities of what may follow it."""
        import torch

        ids = [self.id_of(token) for token in tokens]
        with torch.inference_mode():
            logits = self.model(torch.tensor([ids])).logits[0].double()
        return [_Row(row, self) for row in torch.log_softmax(logits, dim=-1)]


class _Token(str):
    """A token's text with its id: several ids may have one text."""

    number: int

    def __new__(cls, text: str, number: int) -> _Token:
        made = super().__new__(cls, text)
        made.number = number
        return made


class _Row(Mapping[str, float]):
    """Log-probabilities by token, looked up by id."""

    def __init__(self, values, model) -> None:  # type: ignore[no-untyped-def]
        self.values_, self.model = values, model

    def __getitem__(self, token: str) -> float:
        return float(self.values_[self.model.id_of(token)])

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.model.strings)

    def __len__(self) -> int:
        return len(self.model.strings)

    def items(self):  # type: ignore[no-untyped-def]
        """The likeliest first."""
        values, order = self.values_.sort(descending=True)
        return [
            (_Token(self.model.strings[int(number)], int(number)), float(value))
            for value, number in zip(values[:50], order[:50], strict=True)
        ]
