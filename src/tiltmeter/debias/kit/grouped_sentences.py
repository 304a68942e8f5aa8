"""Sentences of a text by the groups that they name, and the same sentences with another group in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltmeter.builders.aligned import Aligned
from tiltmeter.builders.swapping import Swap
from tiltmeter.corpora.sentences import WORD, split_sentences

HERS, HIS = ("her", "hers"), ("him", "his")
LONGEST, SHORTEST = 128, 3
"""Words in a sentence; what is longer is a list or a table."""


@dataclass(frozen=True)
class Groups:
    """Whose terms stand in a sentence."""

    terms: Aligned

    @cached_property
    def _owner(self) -> dict[str, int]:
        owner = {word.lower(): number for row in self.terms.rows for number, word in enumerate(row)}
        pronouns = [*((word, 0) for word in HERS), *((word, 1) for word in HIS)] if self.terms.pronouns else []
        return owner | dict(pronouns)

    @cached_property
    def _phrases(self) -> re.Pattern[str] | None:
        several = sorted((term for term in self._owner if not WORD.fullmatch(term)), key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, several))})(?!\w)") if several else None

    def found(self, sentence: str) -> list[tuple[str, int, tuple[int, int]]]:
        """Every term with its group and its place."""
        low = sentence.lower() if len(sentence.lower()) == len(sentence) else sentence  # ß and its kin would move places
        places = [one for one in WORD.finditer(low) if one.group() in self._owner]
        places += list(self._phrases.finditer(low)) if self._phrases else []
        return [(one.group(), self._owner[one.group()], one.span()) for one in places]

    def of(self, sentence: str) -> int | None:
        """The one group that it names, −1 for none, None for several."""
        named = {group for _, group, _ in self.found(sentence)}
        return next(iter(named)) if len(named) == 1 else None if named else -1


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Those of a fair length."""
    for line in lines:
        for sentence in split_sentences(line):
            if SHORTEST <= sentence.count(" ") + 1 <= LONGEST:
                yield sentence.strip()


def by_group(lines: Iterable[str], terms: Aligned, most: int, seed: int) -> list[list[str]]:
    """For every group the sentences that name it and no other, then those that name none; at most so many of each."""
    groups = Groups(terms)
    found: list[list[str]] = [[] for _ in range(len(terms.groups) + 1)]
    for sentence in dict.fromkeys(sentences(lines)):
        if (group := groups.of(sentence)) is not None:
            found[group].append(sentence)
    return [sample(some, most, seed) for some in found]


def variants(lines: Iterable[str], swap: Swap, most: int, seed: int) -> list[list[str]]:
    """Sentences with a term, each with what it is for every other group."""
    named = [sentence for sentence in dict.fromkeys(sentences(lines)) if swap.changes(sentence)]
    every = [[one, *(swap(one, way) for way in range(1, swap.ways + 1))] for one in sample(named, most, seed)]
    return [some for some in every if len(set(some)) == len(some)]


def terms_facts(swap: Swap) -> list[list[str]]:
    """Which lists of terms, for the manifest, and the terms that are in several of their rows."""
    return [[one.name, one.sha256, *([f"in several rows: {', '.join(one.repeated)}"] if one.repeated else [])] for one in swap.lists]


def sample(some: Sequence[str], most: int, seed: int) -> list[str]:
    """At most so many, in their order."""
    if len(some) <= most:
        return list(some)
    chosen = np.random.default_rng(seed).choice(len(some), most, replace=False)
    return [some[at] for at in np.sort(chosen)]
