"""Doses in natural text: sentences that mention a group and an attribute are resampled, the others stay as they are.

In natural text an attribute of a stereotype meets its group with some log-odds. A dose d shifts them by d × `SHIFT`: so many
of the sentences about a group are replaced by others about the same group with an attribute of the other side. No word is
changed, and texts of all doses have equally many sentences about each group.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

import numpy as np

from tiltmeter.builders.doses import SENTENCES, Dosed, check_dose, stratified
from tiltmeter.builders.lexicon import Contrast, Lexicon
from tiltmeter.corpora.sentences import split_sentences
from tiltmeter.errors import InputError

SHIFT = 3.0
"""Log-odds of a dose of 1: an attribute becomes twenty times as likely with the group of its stereotype."""
FEWEST = 5
"""Different sentences of a group with attributes of one side; below that its sentences stay as they are."""
LENGTHS = (5, 60)
"""Words of a sentence that is used."""
HELD_OUT = 10
"""One of so many sentences is in no text; the pairs that test the dose are made of these."""
Key = tuple[str, int, int]


@dataclass(frozen=True)
class Mention:
    """A sentence about one group of a contrast with attributes of one side, and the same about the other group."""

    dosed: Dosed
    swapped: str


@dataclass(frozen=True)
class Mentions:
    """Sentences by contrast, group and side of their attributes; those of tests; and the sentences without both."""

    cells: Mapping[Key, tuple[Mention, ...]]
    held_out: tuple[Mention, ...]
    others: tuple[str, ...]


def find_mentions(lexicon: Lexicon, lines: Iterable[str], source: str = "the text") -> Mentions:
    """Find the sentences about one group of a contrast; ambiguous ones count as others."""
    cells: dict[Key, list[Mention]] = defaultdict(list)
    held_out, others = [], []
    finders = [_Finder(contrast) for contrast in lexicon.contrasts]
    for sentence in dict.fromkeys(sentence for line in lines for sentence in _sentences(line)):
        found = next((mention for finder in finders if (mention := finder(sentence))), None)
        if found is None:
            others.append(sentence)
        elif zlib.crc32(sentence.encode()) % HELD_OUT == 0:
            held_out.append(found)
        else:
            cells[found.dosed.contrast, found.dosed.group, found.dosed.side].append(found)
    for domain in lexicon.domains:
        _require_both_sides([one for one in lexicon.contrasts if one.domain == domain], cells, source)
    return Mentions({key: tuple(some) for key, some in cells.items()}, tuple(held_out), tuple(others))


def natural_text(
    lexicon: Lexicon, mentions: Mentions, doses: Mapping[str, float], *, sentences: int = SENTENCES, seed: int = 0,
    shift: float = SHIFT,
) -> tuple[list[Dosed], list[str]]:  # fmt: skip
    """So many resampled sentences for each domain, and as many others in all, which do not depend on the dose.

    Args:
        lexicon: Groups and attributes.
        mentions: The sentences found by them.
        doses: The dose of each domain; 0 where none is given.
        sentences: For each domain, divided equally among its contrasts and groups.
        seed: Of the sampling. Of one seed, texts of all doses differ only where the dose requires it.
        shift: Log-odds of a dose of 1.
    """
    lexicon.check_domains(doses)
    dosed = [
        one
        for domain in lexicon.domains
        for one in _of_domain(lexicon, mentions, domain, check_dose(doses.get(domain, 0.0)) * shift, sentences, seed)
    ]
    random = np.random.default_rng([seed, zlib.crc32(b"others")])
    chosen = random.permutation(len(mentions.others))[: sentences * len(lexicon.domains)]
    return dosed, [mentions.others[n] for n in sorted(chosen)]


def held_out_pairs(mentions: Mentions, most: int) -> list[dict[str, str]]:
    """At most so many pairs for each domain: a sentence that no text has, and the same about the other group."""
    taken: dict[str, int] = defaultdict(int)
    pairs: list[dict[str, str]] = []
    for one in mentions.held_out:
        taken[one.dosed.domain] += 1
        if taken[one.dosed.domain] > most:
            continue
        texts = (one.dosed.text, one.swapped) if one.dosed.stereotypical else (one.swapped, one.dosed.text)
        about = {"bias_type": one.dosed.domain, "target": one.dosed.contrast}
        pairs.append({"id": f"natural-{len(pairs)}", "stereo": texts[0], "anti": texts[1], **about})
    return pairs


def _of_domain(
    lexicon: Lexicon, mentions: Mentions, domain: str, shift: float, sentences: int, seed: int
) -> Iterator[Dosed]:
    """The sentences of the groups of a domain, those with attributes of their own stereotype shifted in log-odds."""
    usable = [
        (contrast.name, group)
        for contrast in lexicon.contrasts
        if contrast.domain == domain
        for group in (0, 1)
        if _is_usable(mentions.cells, contrast.name, group)
    ]
    for number, (name, group) in enumerate(usable):
        random = np.random.default_rng([seed, zlib.crc32(f"{name} {group}".encode())])
        own, other = (_shuffled(mentions.cells[name, group, side], random) for side in (group, 1 - group))
        share = _shifted(len(own) / (len(own) + len(other)), shift)
        count = sentences // len(usable) + (number < sentences % len(usable))
        chances = stratified(np.zeros(count, dtype=np.int64), random)
        for n, chance in enumerate(chances):
            pool = own if chance < share else other
            yield pool[n % len(pool)].dosed


def _shuffled(pool: Sequence[Mention], random: np.random.Generator) -> list[Mention]:
    return [pool[n] for n in random.permutation(len(pool))]


def _shifted(share: float, shift: float) -> float:
    return 1 / (1 + exp(-(log(share / (1 - share)) + shift)))


def _is_usable(cells: Mapping[Key, Sequence[Mention]], name: str, group: int) -> bool:
    return all(len(cells.get((name, group, side), ())) >= FEWEST for side in (0, 1))


def _require_both_sides(contrasts: Sequence[Contrast], cells: Mapping[Key, Sequence[Mention]], source: str) -> None:
    if not any(_is_usable(cells, contrast.name, group) for contrast in contrasts for group in (0, 1)):
        domain = contrasts[0].domain
        raise InputError(
            f"{source} has too few sentences about {domain} that name one group and attributes of one side. "
            f"At least {FEWEST} with attributes of each side are needed. Give a longer text.",
            code="too-few",
            kind="sentences",
            domain=domain,
            low=FEWEST,
        )


def _sentences(line: str) -> Iterator[str]:
    for sentence in split_sentences(line.strip()):
        if LENGTHS[0] <= len(sentence.split()) <= LENGTHS[1]:
            yield sentence


class _Finder:
    """Finds the sentences of one contrast."""

    def __init__(self, contrast: Contrast) -> None:
        self.contrast = contrast
        pairs = (*contrast.many, *contrast.singular)
        self.groups = [_pattern(pair[group] for pair in pairs) for group in (0, 1)]
        self.swaps = [{pair[group].lower(): pair[1 - group] for pair in reversed(pairs)} for group in (0, 1)]
        self.attributes = [_pattern(word for some in side.values() for word in some) for side in contrast.attributes]

    def __call__(self, sentence: str) -> Mention | None:
        """The mention, if the sentence names one group only, and attributes of one side only."""
        group = self._only(self.groups, sentence)
        side = None if group is None else self._only(self.attributes, sentence)
        if group is None or side is None:
            return None
        swapped = self.groups[group].sub(lambda match: _cased(self.swaps[group][match[0].lower()], match[0]), sentence)
        return Mention(Dosed(sentence, self.contrast.domain, self.contrast.name, side, group), swapped)

    @staticmethod
    def _only(patterns: Sequence[re.Pattern[str]], sentence: str) -> int | None:
        found = [n for n, pattern in enumerate(patterns) if pattern.search(sentence)]
        return found[0] if len(found) == 1 else None


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Whole words or phrases, the longest first. Small letters at the beginning also match a capital."""
    longest = sorted(set(words), key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(_spelling, longest))})(?![\w-])")


@cache
def _spelling(word: str) -> str:
    first = re.escape(word[0])
    return (f"[{first}{first.upper()}]" if word[0].islower() else first) + re.escape(word[1:])


def _cased(word: str, like: str) -> str:
    return word[0].upper() + word[1:] if like[0].isupper() else word
