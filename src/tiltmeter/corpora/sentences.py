"""Lines of text to sentences and words, plainly and fast: a corpus has millions."""

from __future__ import annotations

import re

BOUNDARY = re.compile(r"(?<=[.!?])(?P<close>[\"')\]”’]*)\s+(?=[\"'(\[“‘]?[A-Z])")
ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Jr|Sr|No|Vol|vs|etc|Fig|pp|ca)|\b[A-Z])\.$"
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def split_sentences(line: str) -> list[str]:
    """After . ! ? before a capital, but not after an initial or a title.

    >>> split_sentences('Dr. A. Hill came. "Who?" she said. It rained.')
    ['Dr. A. Hill came.', '"Who?" she said.', 'It rained.']
    """
    sentences: list[str] = []
    start = 0
    for boundary in BOUNDARY.finditer(line):
        end = boundary.end("close")
        if not ABBREVIATION.search(line, max(start, end - 8), end):
            sentences.append(line[start:end])
            start = boundary.end()
    return [*sentences, line[start:]]


def find_word(sentence: str, spelt: tuple[str, ...]) -> tuple[int, int] | None:
    """Where a word or phrase stands first, as a whole, in one of these spellings. An apostrophe binds, a quote does not.

    >>> find_word("Womanly women and a woman's 'woman'.", ("woman", "Woman"))
    (29, 34)
    """
    match = re.search(rf"(?<!\w)(?<!\w['’])(?:{'|'.join(map(re.escape, spelt))})(?!['’]?\w)", sentence)
    return match.span() if match else None
