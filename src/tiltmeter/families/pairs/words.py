"""Pairs as words: what differs between two sentences, without any model's tokenizer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


@dataclass(frozen=True)
class Change:
    """The words that differ, on either side, and in how many separate places."""

    stereo: tuple[str, ...]
    anti: tuple[str, ...]
    spans: int


def words_of(text: str) -> list[str]:
    """Words in lower case, without punctuation.

    >>> words_of("She didn't; her sister-in-law did.")
    ['she', "didn't", 'her', 'sister-in-law', 'did']
    """
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def change_of(stereo: str, anti: str) -> Change:
    """The words that a longest-matching-block diff finds different.

    >>> change_of("Women can't drive.", "Men can't drive.")
    Change(stereo=('women',), anti=('men',), spans=1)
    """
    a, b = words_of(stereo), words_of(anti)
    changes = [code for code in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if code[0] != "equal"]
    left = tuple(word for _, start, end, _, _ in changes for word in a[start:end])
    right = tuple(word for _, _, _, start, end in changes for word in b[start:end])
    return Change(left, right, len(changes))
