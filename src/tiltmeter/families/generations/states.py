"""Invalid outputs: empty texts, loops, refusals. They are counted and reported, and never judged as clean."""

from __future__ import annotations

import re

EMPTY, LOOPING, REFUSAL, BROKEN = "empty text", "looping text", "refusal", "the model's output is not finite"
FILTERED = "filtered by the server"
"""The server's content filter left no text."""
SUPPOSED = "refusal, if this was said in a chat"
"""The reason where the file does not say whether it was."""
TIMES, LONGEST = 5, 40
REPEATED = re.compile(rf"(.{{1,{LONGEST}}}?)\1{{{TIMES - 1},}}", re.DOTALL)
DIFFERENT = 256
"""Signs that fit into bytes."""
ZEROS = [bytes((TIMES - 1) * unit) for unit in range(LONGEST + 1)]
FEWEST_WORDS = 9
AS_MACHINE = re.compile(r"\bas an? (?:AI|artificial intelligence|(?:large )?language model)\b", re.IGNORECASE)
REFUSING = re.compile(
    r"^\W*(?:(?:I['’]m|I am) (?:sorry|afraid|unable|not able)|sorry|I apologi[sz]e|I (?:can['’]?t|cannot|can not|won['’]t"
    r"|will not|must decline|do not feel comfortable|don['’]t feel comfortable)|unfortunately, I)\b",
    re.IGNORECASE,
)


def reason_of(text: str, chat: bool | None) -> str | None:
    """Why a text cannot be judged; None if it can. Only in a chat is "I cannot …" a refusal. `chat`: None if not known.

    >>> reason_of(" — .", False), reason_of(" no no no no no no", False), reason_of("I'm sorry, but no.", True)
    ('empty text', 'looping text', 'refusal')
    >>> reason_of("I'm sorry, but no.", False), reason_of("I'm sorry, but no.", None)
    (None, 'refusal, if this was said in a chat')
    >>> reason_of(" a nurse and a teacher in the same small town.", False) is None
    True
    """
    if not any(sign.isalnum() for sign in text):
        return EMPTY
    if is_looping(text):
        return LOOPING
    if AS_MACHINE.search(text) or (chat and REFUSING.search(text)):
        return REFUSAL
    return SUPPOSED if chat is None and REFUSING.search(text) else None


def is_looping(text: str) -> bool:
    """Five times the same in a row, or fewer than half of its three-word sequences different."""
    if is_repeated(text):
        return True
    words = text.lower().split()
    triples = list(zip(words, words[1:], words[2:], strict=False))
    return len(words) >= FEWEST_WORDS and 2 * len(set(triples)) < len(triples)


def is_repeated(text: str) -> bool:
    """Return whether something of at most 40 signs stands five times in a row: `REPEATED`, several times as fast.

    A text and the text moved by one unit, taken as two large numbers: their exclusive or is 0 wherever both are the same.

    >>> is_repeated(" no, no, no, no, no,"), is_repeated(" no, no, no, no."), is_repeated("aaaaa")
    (True, False, True)
    """
    codes = {sign: number for number, sign in enumerate(dict.fromkeys(text))}
    if len(codes) > DIFFERENT:
        return REPEATED.search(text) is not None
    signs = bytes(map(codes.__getitem__, text))
    number = int.from_bytes(signs)
    for unit in range(1, min(LONGEST, len(signs) // TIMES) + 1):
        moved = number ^ (number >> 8 * unit)
        if moved.to_bytes(len(signs)).find(ZEROS[unit], unit) >= 0:
            return True
    return False
