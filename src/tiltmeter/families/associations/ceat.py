"""CEAT: effect sizes over many draws of one context per word, combined by a random-effects model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST, AssociationTest, Group, Polarity
from tiltmeter.families.associations.ceat_groups import (
    ABSENT,
    COMBINED,
    POLE,
    by_the_model,
    combined_questions,
    with_combined,
)
from tiltmeter.families.associations.facts import Facts, Floats, draws_of, fact, too_few
from tiltmeter.families.associations.seat import SIDES, TARGETS
from tiltmeter.families.associations.words import WordQuestion, words_of
from tiltmeter.families.kit.questions import Question
from tiltmeter.measures.ces import Combined, random_effects
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.kit.vectors import spread
from tiltmeter.measures.single_effect import single_effect
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

NO_INTERVAL = "no paired interval: the draws of a test say nothing of other words, and the more there are the less they vary"
AT_ONCE = 2**25
"""Numbers held at once: draws × attributes × width."""
CONTEXT, QUANTITY = "context", "mean effect over draws"
"""Kinds of rows: a word of a test of two sets, or a word of a group. A word of its poles is `POLE`."""


@dataclass(frozen=True)
class Drawn:
    """Unit vectors of every word's contexts, and which of them each draw takes. Words without contexts are not here."""

    vectors: dict[str, NDArray[np.float32]]
    picks: dict[str, NDArray[np.int64]]
    n: int

    @classmethod
    def of(cls, vectors: dict[str, NDArray[np.float32]], n: int, seed: int) -> Drawn:
        """Draws contexts with a separate random stream for each word, so that a word is drawn alike in every test."""
        picks = {word: generator(seed, "ceat", word).integers(0, len(rows), n) for word, rows in vectors.items()}
        return cls({word: _unit(rows) for word, rows in vectors.items()}, picks, n)

    def take(self, word: str, draws: slice = slice(None)) -> NDArray[np.float32]:
        """One vector per draw."""
        return self.vectors[word][self.picks[word][draws]]

    def there(self, words: Sequence[str]) -> list[str]:
        """The words that have contexts."""
        return [word for word in words if word in self.vectors]


def ask_tests(drawn: Drawn, tests: Sequence[AssociationTest], scorer: str) -> Facts:
    """X and Y against A and B: the effect size and its variance in every draw."""
    facts = Facts()
    for test in tests:
        there = [drawn.there(words.examples) for words in test.sets]
        for side, words in zip(SIDES, test.sets, strict=True):
            known = {"domain": test.domain, "test": test.name, "set": side, "category": words.category}
            facts.rows += [_word(drawn, word, scorer, quantity=CONTEXT, **known) for word in words.examples]
        if min(map(len, there)) >= FEWEST:
            effects, variances = effects_and_variances(drawn, there)
            place = {"test": test.name, "set": "", "category": "", "text": ""}
            facts.draws.append(draws_of(scorer, place, effects, variances))
    return facts


def ask_groups(drawn: Drawn, groups: Sequence[Group], polarity: Polarity, scorer: str) -> Facts:
    """Every word of every group against two poles: its effect size in every draw."""
    facts = Facts()
    scorer = f"{scorer}:{polarity.name}"
    poles = [drawn.there(words.examples) for words in (polarity.a, polarity.b)]
    for side, words in zip(("A", "B"), (polarity.a, polarity.b), strict=True):
        known = {"test": polarity.name, "set": side, "category": words.category}
        facts.rows += [_word(drawn, word, scorer, quantity=POLE, **known) for word in words.examples]
    for group in groups:
        known = {"domain": group.domain, "test": polarity.name, "set": group.name, "category": polarity.name}
        for word in group.words:
            row = _word(drawn, word, scorer, quantity=QUANTITY, **known)
            if row["usable"] and min(map(len, poles)) >= FEWEST:
                effects = word_draws(drawn, word, *poles)
                place = {"test": polarity.name, "set": group.name, "category": group.domain, "text": word}
                facts.draws.append(draws_of(scorer, place, effects))
                row["value"] = float(effects.mean())
            facts.rows.append(row)
    return facts


def _word(drawn: Drawn, word: str, scorer: str, **place: str) -> dict[str, object]:
    usable = word in drawn.vectors
    return fact("ceat", scorer, text=word, usable=usable, reason=None if usable else ABSENT, **place)


def effects_and_variances(drawn: Drawn, sets: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
    """Effect size and variance of s over X ∪ Y, one of each per draw. s is a product with mean A − mean B."""
    x, y, a, b = sets
    direction = _mean(drawn, a) - _mean(drawn, b)
    near = [np.stack([np.einsum("nd,nd->n", drawn.take(word), direction) for word in words], axis=-1) for words in (x, y)]
    both = np.concatenate(near, axis=-1)
    return effect_size(*near), spread(both) ** 2


def word_draws(drawn: Drawn, word: str, a: Sequence[str], b: Sequence[str]) -> Floats:
    """A word's own effect size in each draw."""
    width = drawn.vectors[word].shape[1]
    step = max(1, AT_ONCE // (width * (len(a) + len(b))))
    parts = []
    for first in range(0, drawn.n, step):
        draws = slice(first, first + step)
        mine = drawn.take(word, draws)
        near = [
            np.stack([np.einsum("nd,nd->n", mine, drawn.take(other, draws)) for other in words], axis=-1).astype(np.float64)
            for words in (a, b)
        ]
        parts.append(single_effect(*near))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class CombinedTest(WordQuestion):
    """The combined effect of X and Y against A and B, as published: p is one-sided."""

    NOUN = "word"
    UNDEFINED = "undefined: no variance in some draw"
    drawn: pd.DataFrame

    @cached_property
    def combined(self) -> Combined:
        """The combination of all draws."""
        return random_effects(*(self.drawn[column].to_numpy(dtype=np.float64) for column in ("effect", "variance")))

    def lacking(self, by_whom: str = "") -> str:
        """Return which sets have too few words with contexts."""
        return too_few(self.few, FEWEST, self.NOUN, " with contexts") if self.few else ""

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Take the interval and p from the random-effects model."""
        row = with_combined(
            self.blank, self.combined, self.drawn["variance"].mean(), len(self.drawn), "one-sided p, as published"
        )
        return [Measured(by_the_model(replace(row, p=self.combined.p), self.combined, settings))]

    def compared(self, row: Difference, theirs: CombinedTest, settings: Settings) -> Difference:
        """Subtract the combined effects of two models."""
        values = self.combined.ces, theirs.combined.ces
        return replace(row, value=values[0], baseline_value=values[1], difference=values[0] - values[1], note=NO_INTERVAL)


def ceat_questions(rows: pd.DataFrame, draws: pd.DataFrame) -> list[WordQuestion]:
    """The tests of two sets of a scorer, or its groups against their poles."""
    if not (rows["quantity"] == CONTEXT).all():
        return list(combined_questions(rows, draws))
    measure, of_scorer = catalog.find("measures", COMBINED), draws[draws["scorer"] == rows["scorer"].iloc[0]]
    drawn = dict(list(of_scorer.groupby("test")))
    return [
        CombinedTest(words, measure, "test", words.test, drawn.get(words.test, of_scorer[:0]))
        for words in words_of(rows, (), TARGETS)
    ]


def _mean(drawn: Drawn, words: Sequence[str]) -> Floats:
    total = np.zeros((drawn.n, drawn.vectors[words[0]].shape[1]))
    for word in words:
        total += drawn.take(word)
    return np.asarray(total / len(words), dtype=np.float64)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
