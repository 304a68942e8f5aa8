"""Terms as a tokenizer writes them in a slot: with or without a leading space, in one piece or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models import Tokenization

Ints = NDArray[np.int64]
INEXPRESSIBLE = "the tokenizer cannot express it"


@dataclass(frozen=True)
class Term:
    """One word of one group, and its token ids in a slot of one kind."""

    group: str
    word: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class TermList:
    """All terms that a tokenizer can express, and those that it cannot."""

    terms: tuple[Term, ...]
    refused: tuple[tuple[str, str], ...]

    @cached_property
    def by_length(self) -> dict[int, Ints]:
        """Number of pieces → positions of those terms in the list."""
        lengths = np.array([len(term.ids) for term in self.terms])
        return {int(n): np.flatnonzero(lengths == n) for n in np.unique(lengths)}

    def ids(self, length: int) -> Ints:
        """Masks × terms of that many pieces."""
        return np.array([self.terms[n].ids for n in self.by_length[length]], dtype=np.int64).reshape(-1, length).T


def term_list(tokens: Tokenization, groups: Mapping[str, Sequence[str]], before: str) -> TermList:
    """The terms as they are written after the character `before` ("" where the slot begins the text).

    Spellings that a tokenizer does not distinguish ("Woman" and "woman" in lower case) count once, as the first of them.
    """
    words = [(group, word) for group, of_group in groups.items() for word in of_group]
    terms: dict[tuple[str, tuple[int, ...]], Term] = {}
    refused = []
    for (group, word), ids in zip(words, _written(tokens, [word for _, word in words], before), strict=True):
        if not ids or tokens.tokenizer.unk_token_id in ids:
            refused.append((group, word))
        else:
            terms.setdefault((group, ids), Term(group, word, ids))
    lacking = [group for group in groups if not any(term.group == group for term in terms.values())]
    if lacking:
        raise ModelError(
            f"None of the terms of '{lacking[0]}' can be expressed by this model's tokenizer.",
            code="empty-selection", group=lacking[0],
        )  # fmt: skip
    return TermList(tuple(terms.values()), tuple(refused))


def _written(tokens: Tokenization, words: Sequence[str], before: str) -> list[tuple[int, ...]]:
    """A word's ids: a byte-level tokenizer writes the space in front of it into its first token."""
    plain = [encoded.ids for encoded in tokens.encode(words, special=False)]
    if not before:
        return plain
    if before == " ":
        spaced = [f" {word}" for word in words]
        return [encoded.ids for encoded in tokens.encode(spaced, special=False)] if tokens.byte_level else plain
    head = tokens.encode([before], special=False)[0].ids
    glued = [encoded.ids for encoded in tokens.encode([before + word for word in words], special=False)]
    # If the character and the word share a token, the word's own tokens are the best guess.
    return [ids[len(head) :] if ids[: len(head)] == head else alone for ids, alone in zip(glued, plain, strict=True)]
