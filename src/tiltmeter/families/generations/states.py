"""Texts that are none: empty ones, loops, refusals. They are counted and told of, and never judged as clean."""

from __future__ import annotations

import re

EMPTY, LOOPING, REFUSAL, BROKEN = "empty text", "looping text", "refusal", "the model's output is not finite"
REPEATED = re.compile(r"(.{1,40}?)\1{4,}", re.DOTALL)
FEWEST_WORDS = 9
AS_MACHINE = re.compile(r"\bas an? (?:AI|artificial intelligence|(?:large )?language model)\b", re.IGNORECASE)
REFUSING = re.compile(
    r"^\W*(?:(?:I['’]m|I am) (?:sorry|afraid|unable|not able)|sorry|I apologi[sz]e|I (?:can['’]?t|cannot|can not|won['’]t"
    r"|will not|must decline|do not feel comfortable|don['’]t feel comfortable)|unfortunately, I)\b",
    re.IGNORECASE,
)


def reason_of(text: str, chat: bool) -> str | None:
    """Why a text cannot be judged; None if it can. Only in a chat is "I cannot …" a refusal.

    >>> reason_of(" — .", False), reason_of(" no no no no no no", False), reason_of("I'm sorry, but no.", True)
    ('empty text', 'looping text', 'refusal')
    >>> reason_of(" a nurse and a teacher in the same small town.", False) is None
    True
    """
    if not any(sign.isalnum() for sign in text):
        return EMPTY
    if is_looping(text):
        return LOOPING
    return REFUSAL if AS_MACHINE.search(text) or (chat and REFUSING.search(text)) else None


def is_looping(text: str) -> bool:
    """Five times the same in a row, or fewer than half of its three-word sequences different."""
    if REPEATED.search(text):
        return True
    words = text.lower().split()
    triples = list(zip(words, words[1:], words[2:], strict=False))
    return len(words) >= FEWEST_WORDS and 2 * len(set(triples)) < len(triples)
