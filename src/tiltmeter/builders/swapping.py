"""Swapping: every word of one group becomes its counterpart of another, and nothing else changes.

Case, punctuation and spaces stay. A text swapped twice is the text again, but for words whose counterpart is not one word:
"her" becomes "his" or "him", "his" becomes "her" or "hers", by the words around; where those mislead, the way back may
differ. A word in odd case ("sHe") is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tiltmeter.builders._her import is_object, stands_alone
from tiltmeter.builders._words import Words
from tiltmeter.builders.aligned import PRONOUNS, Aligned
from tiltmeter.errors import InputError

WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Swap:
    """Swaps the terms of one list, and those of lists that go with it (names with gender).

    >>> from tiltmeter.builders.aligned import gender_terms
    >>> Swap((gender_terms(),))("HER brother's wife: “She saw him, not his car.”")
    "HIS sister's husband: “He saw her, not her car.”"
    """

    lists: tuple[Aligned, ...]

    def __post_init__(self) -> None:
        if len(widths := {len(one.groups) for one in self.lists}) != 1:
            raise InputError(
                f"Lists that are swapped together must have the same number of groups; these have {sorted(widths)}.",
                code="wrong-shape",
                groups=sorted(widths),
            )
        owners = [word.lower() for one in self.lists for row in one.rows for word in row]
        if twice := [word for word in set(owners) if owners.count(word) > 1]:
            names = " and ".join(one.name for one in self.lists)
            raise InputError(
                f"'{sorted(twice)[0]}' is in more than one of the lists {names}.",
                code="duplicate-name",
                kind="word",
                name=min(twice),
            )

    @property
    def ways(self) -> int:
        """How many counterfactuals a text has: one less than there are groups."""
        return len(self.lists[0].groups) - 1

    @cached_property
    def _places(self) -> dict[str, tuple[tuple[str, ...], int, bool]]:
        """A term in lower case: its row, its column, and whether it is a name."""
        return {
            word.lower(): (row, column, one.names)
            for one in self.lists
            for row in one.rows
            for column, word in enumerate(row)
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Terms of several words, then any word, which is looked up: that is several times faster than a long list."""
        phrases = sorted((term for term in self._places if not WORD.fullmatch(term)), key=len, reverse=True)
        choices = "|".join([*map(re.escape, phrases), WORD.pattern])
        return re.compile(rf"(?<!\w)(?<!\w['’])(?:{choices})(?!\w)", re.IGNORECASE if phrases else 0)

    @cached_property
    def _pronouns(self) -> bool:
        return any(one.pronouns for one in self.lists)

    def __call__(self, text: str, way: int = 1) -> str:
        """The text with each term's counterpart, so many groups on."""
        return self._swapped(text, way)[0]

    def changes(self, text: str) -> bool:
        """Return True if the text has a term to swap."""
        return bool(self._swapped(text, 1)[1])

    def _swapped(self, text: str, way: int) -> tuple[str, int]:
        parts, end, changed = [], 0, 0
        words: _Placed | None = None
        for found in self._pattern.finditer(text):
            word = found.group()
            if self._pronouns and word.lower() in PRONOUNS:
                words = words or _Placed(text)
                new = _pronoun(word, words, found.start(), way)
            else:
                new = self._counterpart(word, way)
            if new is not None:
                parts += [text[end : found.start()], new]
                end, changed = found.end(), changed + 1
        return "".join([*parts, text[end:]]), changed

    def _counterpart(self, word: str, way: int) -> str | None:
        if (place := self._places.get(word.lower())) is None:
            return None
        row, column, name = place
        return _in_case(word, row[column], row[(column + way) % len(row)], name=name)


class _Placed:
    """The words of a text, found by where they begin."""

    def __init__(self, text: str) -> None:
        self.words = Words.of(text)
        self.at: dict[int, int] = {}
        place = len(self.words.gaps[0])
        for number, (word, gap) in enumerate(zip(self.words.words, self.words.gaps[1:], strict=True)):
            self.at[place] = number
            place += len(word) + len(gap)


def _pronoun(word: str, placed: _Placed, start: int, way: int) -> str | None:
    """her → his or him, his → her or hers. With more than two groups, only between the first two."""
    at = placed.at.get(start)
    low = word.lower()
    if at is None or way != 1 or placed.words.low(at) != low:
        return None
    if low == "her":
        new = "him" if is_object(placed.words, at) else "his"
    elif low == "his":
        new = "hers" if stands_alone(placed.words, at) else "her"
    else:
        new = {"hers": "his", "him": "her"}[low]
    return _in_case(word, low, new)


def _in_case(word: str, listed: str, new: str, *, name: bool = False) -> str | None:
    """The counterpart in the case that the word has: as listed, in capitals, with a capital, or in lower case."""
    if word == listed:
        return new
    if word == listed.upper():
        return new.upper()
    if name:
        return None
    if word == listed[0].upper() + listed[1:]:
        return new[0].upper() + new[1:]
    return new.lower() if word == listed.lower() else None
