"""Facts of a tokenizer, read from the tokenizer itself: specials, masks, casing, spaces, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tiltmeter.models.hashing import hash_tokenizer


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as token ids.

    `content` are the positions that stand for text, the others are special tokens that the tokenizer added; `offsets`
    say which characters a token covers.
    """

    ids: tuple[int, ...]
    content: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Counts of one text: its tokens, how many of them are unknown, and the special tokens written in it."""

    tokens: int
    unknown: int
    special: tuple[str, ...] = ()


class Tokenization:
    """A tokenizer and the facts about it that scoring needs."""

    def __init__(self, tokenizer: Any, max_length: int | None = None, embeddings: int | None = None) -> None:
        self.tokenizer = tokenizer
        self._embeddings = embeddings
        self.max_length = max_length
        self._spelled: dict[int, str] = {}

    @cached_property
    def mask_id(self) -> int | None:
        """Id of the mask token, if there is one."""
        return self.tokenizer.mask_token_id  # type: ignore[no-any-return]

    @cached_property
    def bos_id(self) -> int | None:
        """Token before a sentence of a causal model: BOS, or EOS where there is no BOS (GPT-2, Qwen)."""
        if self.tokenizer.bos_token_id is not None:
            return self.tokenizer.bos_token_id  # type: ignore[no-any-return]
        return self.tokenizer.eos_token_id  # type: ignore[no-any-return]

    @cached_property
    def pad_id(self) -> int:
        """Any id will do where the attention mask is 0; the pad id matters to models that count positions by it.

        One that was added to the tokenizer, and not to the model, is no id of the model's.
        """
        pad = self.tokenizer.pad_token_id
        return 0 if pad is None or pad >= (self._embeddings or pad + 1) else int(pad)

    @cached_property
    def byte_level(self) -> bool:
        """Byte-level BPE: a word in mid-sentence carries its leading space."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        return backend is not None and "ByteLevel" in repr(backend.pre_tokenizer)

    @cached_property
    def lowercases(self) -> bool:
        """True if the tokenizer ignores case."""
        return self.encode(["A"], special=False)[0].ids == self.encode(["a"], special=False)[0].ids

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of the tokenizer."""
        return hash_tokenizer(self.tokenizer)

    def encode(self, texts: Sequence[str], *, special: bool = True, offsets: bool = False) -> list[Encoded]:
        """Texts to ids, with the special tokens the tokenizer adds or without them."""
        if not texts:
            return []
        offsets = offsets and self.tokenizer.is_fast
        answer = self.tokenizer(
            list(texts),
            add_special_tokens=special,
            return_special_tokens_mask=True,
            return_offsets_mapping=offsets,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,  # a sentence over the maximum length is our business to report
        )
        spans = answer["offset_mapping"] if offsets else [None] * len(texts)
        return [
            Encoded(tuple(ids), _content(mask, special), tuple(span) if span is not None else None)
            for ids, mask, span in zip(answer["input_ids"], answer["special_tokens_mask"], spans, strict=True)
        ]

    @cached_property
    def unknown_id(self) -> int | None:
        """Unknown token, for text that the vocabulary cannot spell. GPT-2 names its end of text so and never uses it."""
        unknown = self.tokenizer.unk_token_id
        other = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        return None if unknown is None or unknown in other else int(unknown)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that do not stand for text, without the unknown one."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        marked = {id_ for id_, token in added.items() if getattr(token, "special", False)}
        return frozenset({*self.tokenizer.all_special_ids, *marked} - {self.unknown_id})

    def count_tokens(self, texts: Sequence[str]) -> list[TokenCount]:
        """Count the tokens of each text before it is scored: unknown ones, and special ones written in it.

        A text that says `[MASK]` or `<|endoftext|>` is read as that token, not as those letters.
        """
        return [self.counted(encoded) for encoded in self.encode(texts, special=False)]

    def counted(self, encoded: Encoded) -> TokenCount:
        """Count the tokens of a tokenised text; special tokens around it are not counted."""
        ids = encoded.ids
        unknown = 0 if self.unknown_id is None else ids.count(self.unknown_id)
        if len(encoded.content) == len(ids) and self.special_ids.isdisjoint(ids):
            return TokenCount(len(ids), unknown)
        special = [ids[at] for at in encoded.content if ids[at] in self.special_ids]
        return TokenCount(len(encoded.content), unknown, tuple(self.token_strings(special)) if special else ())

    def decode(self, ids: Sequence[int]) -> str:
        """Ids to text."""
        return str(self.tokenizer.decode(list(ids)))

    def token_strings(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's own spelling of each id."""
        new = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._spelled]
        self._spelled.update(zip(new, map(str, self.tokenizer.convert_ids_to_tokens(new)), strict=True))
        return [self._spelled[id_] for id_ in ids]

    def facts(self) -> dict[str, Any]:
        """Facts for the manifest."""
        return {
            "class": type(self.tokenizer).__name__,
            "sha256": self.sha256,
            "max_length": self.max_length,
            "byte_level": self.byte_level,
            "lowercases": self.lowercases,
            "mask_token": self.tokenizer.mask_token,
            **({"chat_template": True} if getattr(self.tokenizer, "chat_template", None) else {}),
        }


def _content(special_mask: Sequence[int], special: bool) -> tuple[int, ...]:
    if not special:
        return tuple(range(len(special_mask)))
    return tuple(position for position, added in enumerate(special_mask) if not added)
