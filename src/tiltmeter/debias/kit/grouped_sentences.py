"""Sentences of a text by the groups that they name, and the same sentences with another group in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiltmeter.builders.aligned import Aligned
from tiltmeter.builders.swapping import Swap
from tiltmeter.corpora.sentences import WORD, split_sentences

HERS, HIS = ("her", "hers"), ("him", "his")
FEWEST_WORDS = 4
Ints = NDArray[np.int64]
LONGEST, SHORTEST = 128, 3
"""Words in a sentence; what is longer is a list or a table."""


@dataclass(frozen=True)
class Groups:
    """Matcher of the groups' terms in a sentence."""

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

    def matches(self, sentence: str) -> list[tuple[str, int, tuple[int, int]]]:
        """Every term with its group and its place."""
        low = sentence.lower() if len(sentence.lower()) == len(sentence) else sentence  # ß and its kin would move places
        places = [one for one in WORD.finditer(low) if one.group() in self._owner]
        places += list(self._phrases.finditer(low)) if self._phrases else []
        return [(one.group(), self._owner[one.group()], one.span()) for one in places]

    def of(self, sentence: str) -> int | None:
        """The one group that it names, −1 for none, None for several."""
        named = {group for _, group, _ in self.matches(sentence)}
        return next(iter(named)) if len(named) == 1 else None if named else -1


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yield sentences of moderate length."""
    for line in lines:
        for sentence in split_sentences(line):
            if SHORTEST <= sentence.count(" ") + 1 <= LONGEST:
                yield sentence.strip()


def by_group(lines: Iterable[str], terms: Aligned, most: int, seed: int) -> list[list[str]]:
    """Collect for every group the sentences that name it and no other, then those that name none; at most `most` of each."""
    groups = Groups(terms)
    collected: list[list[str]] = [[] for _ in range(len(terms.groups) + 1)]
    for sentence in dict.fromkeys(sentences(lines)):
        if (group := groups.of(sentence)) is not None:
            collected[group].append(sentence)
    return [sample(some, most, seed) for some in collected]


def any_or_none(lines: Iterable[str], terms: Aligned, most: int, seed: int) -> list[list[str]]:
    """Collect the sentences that name any group or several, then those that name none; at most `most` of each."""
    groups = Groups(terms)
    collected: list[list[str]] = [[], []]
    for sentence in dict.fromkeys(sentences(lines)):
        collected[not groups.matches(sentence)].append(sentence)
    return [sample(some, most, seed) for some in collected]


def clipped(some: Iterable[str], terms: Aligned, seed: int) -> list[str]:
    """Sentences in lower case, cut at a random word behind their last term, or behind their fourth word without any."""
    groups, random = Groups(terms), np.random.default_rng([seed, FEWEST_WORDS])
    found = []
    for sentence in some:
        ends = [last for *_, (_, last) in groups.matches(sentence)]
        words = sentence.lower().split()
        least = len(sentence[: max(ends)].split()) if ends else FEWEST_WORDS
        if len(words) >= FEWEST_WORDS:
            found.append(" ".join(words[: int(random.integers(min(least, len(words)), len(words) + 1))]))
    return found


def single_swaps(lines: Iterable[str], swap: Swap, most: int, seed: int) -> list[list[str]]:
    """Sentences with what they are for every other group when one pair of terms is swapped at a time."""
    terms = swap.lists[0]
    rows = {row: Swap((replace(terms, rows=(row,), pronouns=False, pronoun_rows=()),)) for row in terms.pairs}
    with_word: dict[str, list[Swap]] = {}
    for row, one in rows.items():
        for word in {word.lower() for word in row}:
            with_word.setdefault(word, []).append(one)
    found = []
    for sentence in dict.fromkeys(sentences(lines)):
        there = dict.fromkeys(word.lower() for word in WORD.findall(sentence))
        swaps = dict.fromkeys(one for word in there for one in with_word.get(word, ()))
        found += [[sentence, *(one(sentence, way) for way in range(1, swap.ways + 1))] for one in swaps]
    whole = [some for some in found if len(set(some)) == len(some)]
    kept = range(len(whole)) if not most or len(whole) <= most else np.sort(_drawn(len(whole), most, seed))
    return [whole[n] for n in kept]


def variants(lines: Iterable[str], swap: Swap, most: int, seed: int) -> list[list[str]]:
    """Sentences with a term, each with what it is for every other group."""
    named = [sentence for sentence in dict.fromkeys(sentences(lines)) if swap.changes(sentence)]
    every = [[one, *(swap(one, way) for way in range(1, swap.ways + 1))] for one in sample(named, most, seed)]
    return [some for some in every if len(set(some)) == len(some)]


def terms_facts(swap: Swap) -> list[list[str]]:
    """Describe the lists of terms for the manifest, and the terms that are in several of their rows."""
    return [
        [one.name, one.sha256, *([f"in several rows: {', '.join(one.repeated)}"] if one.repeated else [])]
        for one in swap.lists
    ]


def sample(some: Sequence[str], most: int, seed: int) -> list[str]:
    """Sample at most `most`, in their order; 0: all."""
    if not most or len(some) <= most:
        return list(some)
    return [some[at] for at in np.sort(_drawn(len(some), most, seed))]


def _drawn(n: int, most: int, seed: int) -> Ints:
    return np.random.default_rng(seed).choice(n, most, replace=False)
