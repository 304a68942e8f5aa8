"""Sentences of Auto-Debias: a group's term, a prompt, a mask. All of one step have one length, so nothing is padded.

[CLS] woman was a [MASK] . [SEP]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import InputError
from tiltmeter.models import Tokenization

Ints = NDArray[np.int64]
FEWEST_WORDS = 2


@dataclass(frozen=True)
class Frame:
    """Tokens around a prompt: special tokens, terms of both groups (a pair a row), and words predicted at the mask."""

    lead: tuple[int, ...]
    tail: tuple[int, ...]  # from the mask on
    first: tuple[tuple[int, ...], ...]
    second: tuple[tuple[int, ...], ...]
    words: Ints

    @property
    def pairs(self) -> int:
        """Number of pairs of terms."""
        return len(self.first)

    def row(self, term: Sequence[int], prompt: Sequence[int]) -> list[int]:
        """One sentence."""
        return [*self.lead, *term, *prompt, *self.tail]

    @property
    def mask_from_end(self) -> int:
        """The mask is where the tail begins."""
        return len(self.tail)


def make_frame(
    tokens: Tokenization, pairs: Sequence[tuple[str, str]], words: Sequence[str], *, stop: bool
) -> tuple[Frame, list[tuple[str, str]], list[str]]:
    """The frame for a tokenizer; which pairs and which words it can use.

    As published, a word is used only if it is one token, and a term only if each of its words is: half a word says little.
    """
    lead, tail = _ends(tokens, stop)
    known = [pair for pair in pairs if all(is_known(tokens, term) for term in pair)]
    if not known:
        raise InputError(
            f"None of the {len(pairs)} pairs of group terms is in the model's vocabulary.",
            code="empty-selection", kind="group terms", total=len(pairs),
        )  # fmt: skip
    asked = [word for word in words if len(_inside(tokens, word)) == 1 and is_known(tokens, word)]
    if len(asked) < FEWEST_WORDS:
        raise InputError(
            f"{len(asked)} of the {len(words)} stereotype words are in the model's vocabulary; at least {FEWEST_WORDS} "
            "are needed. Use others (--words).",
            code="too-few", kind="stereotype words", count=len(asked), least=FEWEST_WORDS,
        )  # fmt: skip
    first, second = (tuple(tokens.encode([pair[side]], special=False)[0].ids for pair in known) for side in (0, 1))
    ids = np.array(sorted({_inside(tokens, word)[0] for word in asked}), dtype=np.int64)
    return Frame(lead, tail, first, second, ids), known, asked


def is_known(tokens: Tokenization, term: str) -> bool:
    """Return whether every word of a term is one token that is not the unknown one."""
    unknown = tokens.tokenizer.unk_token_id
    found = [_inside(tokens, word) for word in term.split()]
    return bool(found) and all(len(ids) == 1 and ids[0] != unknown for ids in found)


def single_tokens(tokens: Tokenization, words: Sequence[str]) -> list[int]:
    """The ids of those words that are one known token."""
    return [_inside(tokens, word)[0] for word in words if len(word.split()) == 1 and is_known(tokens, word)]


def _inside(tokens: Tokenization, word: str) -> tuple[int, ...]:
    """A word's tokens in mid-sentence, where byte-level tokenizers keep the space in front."""
    return tokens.encode([f" {word}" if tokens.byte_level else word], special=False)[0].ids


def _ends(tokens: Tokenization, stop: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tokens that the tokenizer itself puts before and behind a mask (and a full stop)."""
    ids = tokens.encode([f"{tokens.tokenizer.mask_token}{'.' if stop else ''}"])[0].ids
    at = ids.index(tokens.mask_id or -1)
    return ids[:at], ids[at:]


def vocabulary_words(tokens: Tokenization, without: Sequence[str]) -> Ints:
    """Tokens that are lower-case words of plain letters and may stand in mid-sentence; no group's term is among them."""
    vocabulary = tokens.tokenizer.get_vocab()
    marks = ("Ġ", "▁")  # how byte-level and SentencePiece tokenizers write the space in front
    marked = any(token.startswith(marks) for token in vocabulary)
    barred = {one for term in without for one in term.lower().split()}
    found = []
    for token, number in vocabulary.items():
        word = token.lstrip("".join(marks)) if marked else token
        if marked and not token.startswith(marks):
            continue
        if word.isascii() and word.isalpha() and word.islower() and (len(word) > 1 or word == "a") and word not in barred:
            found.append(number)
    return np.array(sorted(found), dtype=np.int64)
