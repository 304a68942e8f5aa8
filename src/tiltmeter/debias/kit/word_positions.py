"""Words in their sentences: where attribute words and stereotype words stand, as tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiltmeter.builders.aligned import Aligned
from tiltmeter.corpora.sentences import WORD
from tiltmeter.debias.kit.grouped_sentences import Groups, sentences
from tiltmeter.errors import InputError, ModelError
from tiltmeter.models import Tokenization

Span = tuple[int, int]
Placed = tuple[str, str, int, Span]
FEWEST = 4
SHARE = 0.1


@dataclass(frozen=True)
class Occurrence:
    """A word at its positions in a sentence of ids; `group` is −1 for a stereotype word."""

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    word: str
    group: int


@dataclass(frozen=True)
class Found:
    """Attribute words, in sentences that name one group alone; and stereotype words, in those that name none."""

    attributes: list[Occurrence]
    stereotypes: list[Occurrence]

    def split(self, most: int, seed: int) -> tuple[Found, Found]:
        """Split into training and held-out sentences: a fixed number is held out, or a tenth where there are few."""
        rows = [*self.attributes, *self.stereotypes]
        texts = list(dict.fromkeys(one.ids for one in rows))  # a sentence with two words is on one side
        order = np.random.default_rng(seed).permutation(len(texts))
        apart = {texts[at] for at in order[: min(most, int(SHARE * len(texts)))]}
        learned, held = (
            Found(*([one for one in some if (one.ids in apart) == out] for some in (self.attributes, self.stereotypes)))
            for out in (False, True)
        )
        return learned, held

    def check(self, groups: Sequence[str], where: str) -> None:
        """Refuse a text that says nothing of a group, or of stereotypes."""
        counts = {f"sentences that name {name}": n for n, name in enumerate(groups)}
        counts["sentences with a stereotype word that name no group"] = -1
        for what, group in counts.items():
            n = sum(one.group == group for one in (*self.attributes, *self.stereotypes))
            if n < FEWEST:
                raise InputError(
                    f"{where} has {n} {what}; at least {FEWEST} are needed. Use more text (--text).",
                    code="too-few", kind=what, count=n, least=FEWEST, source=where,
                )  # fmt: skip


def occurrences(tokens: Tokenization, lines: Iterable[str], terms: Aligned, words: Sequence[str], length: int) -> Found:
    """Occurrences in all sentences of at most `length` tokens."""
    if not tokens.tokenizer.is_fast:
        raise ModelError(
            "Context-Debias needs a fast tokenizer, which reports the positions of words.",
            code="missing-capability", capability="fast tokenizer",
        )  # fmt: skip
    found = list(_places(lines, terms, {word.lower() for word in words}))
    encoded = tokens.encode([sentence for sentence, *_ in found], offsets=True)
    placed = []
    for (_, word, group, (first, last)), one in zip(found, encoded, strict=True):
        offsets = one.offsets or ()
        positions = tuple(at for at in one.content if offsets[at][0] < last and offsets[at][1] > first)
        if positions and len(one.ids) <= length:
            placed.append(Occurrence(one.ids, positions, word, group))
    return Found([one for one in placed if one.group >= 0], [one for one in placed if one.group < 0])


def _places(lines: Iterable[str], terms: Aligned, wanted: set[str]) -> Iterator[Placed]:
    groups = Groups(terms)
    for sentence in dict.fromkeys(sentences(lines)):
        group = groups.of(sentence)
        if group is not None and group >= 0:
            yield from ((sentence, word, group, span) for word, _, span in groups.matches(sentence))
        elif group is not None:
            found = ((one.group().lower(), one.span()) for one in WORD.finditer(sentence))
            yield from ((sentence, word, -1, span) for word, span in found if word in wanted)
