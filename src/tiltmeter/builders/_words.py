"""Text as words and what stands between them, so that words can be changed and the rest stays as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass

PIECES = re.compile(r"\[MASK\]|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+\w*|_+|[^\w\[]+|\[")


@dataclass
class Words:
    """The words of a text (`[MASK]` is one) and the gaps around them: gap, word, gap, …, gap."""

    words: list[str]
    gaps: list[str]

    @classmethod
    def of(cls, text: str) -> Words:
        """Takes a text apart."""
        words: list[str] = []
        gaps = [""]
        for piece in PIECES.findall(text):
            if piece == "[MASK]" or piece[0].isalnum():
                words.append(piece)
                gaps.append("")
            else:
                gaps[-1] += piece
        return cls(words, gaps)

    def text(self) -> str:
        """Puts it together again."""
        return self.gaps[0] + "".join(word + gap for word, gap in zip(self.words, self.gaps[1:], strict=True))

    def low(self, at: int) -> str:
        """A word in lower case with a plain apostrophe; nothing beyond either end."""
        return self.words[at].lower().replace("’", "'") if 0 <= at < len(self.words) else ""

    def joined(self, at: int) -> bool:
        """Return True if only a space separates a word from the next."""
        return at + 1 < len(self.words) and self.gaps[at + 1].strip() == "" and self.gaps[at + 1] != ""

    def put(self, at: int, replacement: str) -> None:
        """Replaces a word, in the case and with the apostrophe that it had."""
        old = self.words[at]
        letters = [char for char in old if char.isalpha()]
        if len(letters) > 1 and all(char.isupper() for char in letters):
            replacement = replacement.upper()
        elif letters and letters[0].isupper():
            replacement = replacement[0].upper() + replacement[1:]
        self.words[at] = replacement.replace("'", "’") if "’" in old else replacement
