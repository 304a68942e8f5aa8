"""CEAT: effect sizes over many draws of one context per word, combined by a random-effects model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.associating._rows import Floats, Found, Row, correct, estimate_row, reasons_text
from tiltmeter.associating.domains import domain_row
from tiltmeter.benchmarks._association import FEWEST, AssociationTest, Group, Polarity
from tiltmeter.group_estimating import Settings
from tiltmeter.measures._vectors import spread
from tiltmeter.measures.ces import Combined, random_effects
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.single_effect import single_effect
from tiltmeter.resampling import generator

AT_ONCE = 2**25
"""Numbers held at once: draws × attributes × width."""
ABSENT = "not in the corpus"


@dataclass(frozen=True)
class Drawn:
    """Unit vectors of every word's contexts, and which of them each draw takes. Words without contexts are not here."""

    vectors: dict[str, NDArray[np.float32]]
    picks: dict[str, NDArray[np.int64]]
    n: int

    @classmethod
    def of(cls, vectors: dict[str, NDArray[np.float32]], n: int, seed: int) -> Drawn:
        """A stream of its own for each word, so that a word is drawn alike in every test."""
        picks = {word: generator(seed, "ceat", word).integers(0, len(rows), n) for word, rows in vectors.items()}
        return cls({word: _unit(rows) for word, rows in vectors.items()}, picks, n)

    def take(self, word: str, draws: slice = slice(None)) -> NDArray[np.float32]:
        """One vector per draw."""
        return self.vectors[word][self.picks[word][draws]]

    def there(self, words: Sequence[str]) -> list[str]:
        """Those of the words that have contexts."""
        return [word for word in words if word in self.vectors]


def run_tests(drawn: Drawn, tests: Sequence[AssociationTest], scorer: str, settings: Settings) -> Found:
    """X and Y against A and B, as published: p is one-sided."""
    found = Found()
    for test in tests:
        there = [drawn.there(one.examples) for one in test.sets]
        lost = Counter({ABSENT: sum(len(one.examples) for one in test.sets) - sum(map(len, there))})
        row = estimate_row("ces", "test", test.name, scorer, n=len(there[0]) + len(there[1]), **reasons_text(+lost))
        few = [f"{side} has {len(one)}" for side, one in zip("XYAB", there, strict=True) if len(one) < FEWEST]
        if few:
            found.rows.append(row | {"note": f"refused: {', '.join(few)} words with contexts; {FEWEST} are the least"})
            continue
        combined = random_effects(*effects_and_variances(drawn, there))
        found.rows.append(row | _numbers(combined, drawn.n, settings, combined.p, "one-sided p, as published"))
        found.facts += _facts(test.name, "test", "", combined)
    correct(found.rows)
    return found


def effects_and_variances(drawn: Drawn, sets: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
    """Effect size and variance of s over X ∪ Y, one of each per draw. s is a product with mean A − mean B."""
    x, y, a, b = sets
    direction = _mean(drawn, a) - _mean(drawn, b)
    near = [np.stack([np.einsum("nd,nd->n", drawn.take(word), direction) for word in words], axis=-1) for words in (x, y)]
    both = np.concatenate(near, axis=-1)
    return effect_size(*near), spread(both) ** 2


def run_groups(drawn: Drawn, groups: Sequence[Group], polarity: Polarity, scorer: str, settings: Settings) -> Found:
    """Every group against two poles: above 0 is closer to the first. p is two-sided: no direction is predicted."""
    found = Found()
    poles = [drawn.there(one.examples) for one in (polarity.a, polarity.b)]
    scorer = f"{scorer}:{polarity.name}"
    lost = Counter({ABSENT: len(polarity.a.examples) + len(polarity.b.examples) - len(poles[0]) - len(poles[1])})
    effects: dict[str, Floats] = {}
    for group in groups:
        words = drawn.there(group.words)
        missing = lost + Counter({ABSENT: len(group.words) - len(words)})
        row = estimate_row("ces", "group", group.name, scorer, n=len(words), **reasons_text(+missing))
        if not words or min(map(len, poles)) < FEWEST:
            found.rows.append(row | {"note": "refused: no contexts for the group, or for two words of a pole"})
            continue
        per_word = np.stack([word_draws(drawn, word, *poles) for word in words])
        effects[group.name] = per_word.mean(axis=0)
        combined = random_effects(effects[group.name], _variances(per_word))
        found.rows.append(row | _numbers(combined, drawn.n, settings, _two_sided(combined), "two-sided p"))
        found.facts += _facts(polarity.name, group.name, polarity.name, combined)
    correct(found.rows)
    values = {row["group"]: row["value"] for row in found.rows}
    for domain in dict.fromkeys(group.domain for group in groups):
        named = [group.name for group in groups if group.domain == domain and group.name in effects]
        scores = np.stack([effects[name] for name in named]) if named else np.empty((0, 0))
        found.rows.append(domain_row(domain, scorer, scores, settings, np.array([values[name] for name in named])))
    return found


def word_draws(drawn: Drawn, word: str, a: Sequence[str], b: Sequence[str]) -> Floats:
    """A word's own effect size in each draw."""
    width = drawn.vectors[word].shape[1]
    step = max(1, AT_ONCE // (width * (len(a) + len(b))))
    parts = []
    for first in range(0, drawn.n, step):
        draws = slice(first, first + step)
        mine = drawn.take(word, draws)
        near = [
            np.stack([np.einsum("nd,nd->n", mine, drawn.take(one, draws)) for one in words], axis=-1).astype(np.float64)
            for words in (a, b)
        ]
        parts.append(single_effect(*near))
    return np.concatenate(parts)


def _variances(per_word: Floats) -> Floats:
    """Over a group's words in each draw; a group of one word has none, so over the draws."""
    if len(per_word) > 1:
        return spread(per_word.T) ** 2
    return np.full(per_word.shape[1], spread(per_word[0]) ** 2)


def _mean(drawn: Drawn, words: Sequence[str]) -> Floats:
    total = np.zeros((drawn.n, drawn.vectors[words[0]].shape[1]))
    for word in words:
        total += drawn.take(word)
    return np.asarray(total / len(words), dtype=np.float64)


def _numbers(combined: Combined, n: int, settings: Settings, p: float, how: str) -> Row:
    from scipy.stats import norm

    reach = float(norm.ppf(0.5 + settings.confidence / 2)) * combined.standard_error
    note = f"{n:,} draws; τ² = {combined.tau_squared:.4g}, Q = {combined.q:.4g}; {how}"
    if not np.isfinite(combined.ces):
        return {"note": "undefined: no spread in some draw (a word alone, always in the same context, has none)"}
    return {"value": combined.ces, "low": combined.ces - reach, "high": combined.ces + reach, "p": p, "note": note}


def _two_sided(combined: Combined) -> float:
    from scipy.stats import norm

    return float(2 * norm.sf(abs(combined.ces) / combined.standard_error))


def _facts(test: str, name: str, category: str, combined: Combined) -> list[Row]:
    return [
        {"test": test, "set": name, "category": category, "text": "", "quantity": quantity, "value": float(value)}
        for quantity, value in combined._asdict().items()
    ]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
