"""SEAT and WEAT: effect sizes with bootstrap intervals, exact or sampled permutation p, and averages over tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST, AssociationTest
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.facts import Facts, Floats, fact
from tiltmeter.families.associations.words import WordQuestion, words_of
from tiltmeter.families.kit.questions import Question
from tiltmeter.measures.kit.vectors import association
from tiltmeter.measures.mean_abs_effect import mean_abs_effect
from tiltmeter.probes.embeddings import EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import Passage
from tiltmeter.probes.work import Advance
from tiltmeter.stats.design import generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.intervals import effect_interval
from tiltmeter.stats.measured import with_interval
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.sets import Sets, bootstrap_sets, permuted_sets
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import SHUFFLES, permutation_p, split_p

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("X", "Y", "A", "B")
TARGETS = SIDES[:2]
QUANTITY = "s(w, A, B)"
EFFECT, MEAN = "effect_size", "mean_abs_effect"


def ask_seat(probe: EmbeddingProbe | StaticProbe, tests: Sequence[AssociationTest], advance: Advance | None = None) -> Facts:
    """The association s(w, A, B) of every target of every test; for attributes only whether they have a vector."""
    texts = sorted({text for test in tests for words in test.sets for text in words.examples})
    vectors = probe.vectors([Passage(text, (0, len(text))) for text in texts], advance)
    at = {text: n for n, text in enumerate(texts)}
    facts = Facts()
    for test in tests:
        sets = [vectors.rows[[at[text] for text in words.examples]].astype(np.float64) for words in test.sets]
        usable = [np.asarray(np.isfinite(rows).all(axis=1)) for rows in sets]
        values = [np.full(len(rows), np.nan) for rows in sets]
        x, y, a, b = (rows[keep] for rows, keep in zip(sets, usable, strict=True))
        if min(map(len, (x, y, a, b))) >= FEWEST:
            values[0][usable[0]], values[1][usable[1]] = association(x, a, b), association(y, a, b)
        for side, words, keep, of_words in zip(SIDES, test.sets, usable, values, strict=True):
            facts.rows += [
                fact(
                    "seat", probe.label, domain=test.domain, test=test.name, set=side, category=words.category, text=text,
                    quantity=QUANTITY, value=float(value), usable=bool(is_usable), reason=vectors.reasons.get(at[text]),
                )
                for text, value, is_usable in zip(words.examples, of_words, keep, strict=True)
            ]  # fmt: skip
    return facts


class TestQuestion(WordQuestion):
    """A measure of two sets of targets."""

    NOUN = "word"

    @cached_property
    def sets(self) -> Sets:
        """The associations of X and of Y."""
        return self.cell.values_of("X"), self.cell.values_of("Y")

    def statistic(self, x: Floats, y: Floats) -> Floats:
        """Compute the measure, whichever of the two sets it names first."""
        return np.asarray(self.measure.function(x=x, y=y), dtype=np.float64)

    @cached_property
    def value(self) -> float:
        """The measure of the targets."""
        return float(self.statistic(*self.sets))

    @property
    def is_defined(self) -> bool:
        """Return whether there are targets enough, and the measure has a value."""
        return not self.lacking() and bool(np.isfinite(self.value))

    def draws(self, settings: Settings) -> Floats:
        """Compute the measure of resampled targets of X and of Y.

        A and B are not resampled, as in the test that p comes from: that would unbalance the frames that sentences of A and
        B share, and so shrink every d.
        """
        rng = generator(settings.seed, "bootstrap", self.group)
        return bootstrap_sets(self.statistic, [self.sets], settings.resamples, rng)[0]

    def permuted(self, settings: Settings) -> Floats:
        """Compute the measure after permuting the targets between X and Y.

        Tests of equally many targets are permuted alike, since some are about the same words.
        """
        x, y = self.sets
        rng = generator(settings.seed, "permuted", str(len(x)), str(len(x) + len(y)))
        return permuted_sets(self.statistic, (x, y), settings.resamples, rng)

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Estimate the effect size with its own test and interval, another measure by resampling and permuting targets."""
        row = replace(self.blank, value=self.value)
        if np.isnan(row.value):
            return [Measured(row)]
        if self.measure.name == EFFECT:
            return [Measured(_effect(row, self, settings))]
        p = np.nan if np.isnan(row.neutral) else permutation_p(row.value, self.permuted(settings), row.neutral)
        return [Measured(with_interval(replace(row, p=p), self.measure, row.n, self.draws(settings), settings))]

    def compared(self, row: Difference, theirs: TestQuestion, settings: Settings) -> Difference:
        """Compare two models on the same targets, which are drawn for both."""
        sides = (self, theirs)
        values, draws = [side.value for side in sides], [side.draws(settings) for side in sides]
        return paired_difference(row, values, draws, self.measure, settings)


def _effect(row: Estimate, question: TestQuestion, settings: Settings) -> Estimate:
    """The effect size of one test over the words that have a vector."""
    x, y = question.sets
    p, exact = split_p(x, y, generator(settings.seed, "splits", row.group))
    splits = comb(row.n, len(x))
    note = f"exact p over {splits:,} splits" if exact else f"p from {SHUFFLES:,} shuffles"
    details = {"n_splits": splits} if exact else {"n_shuffles": SHUFFLES}
    note += "; X and Y of unequal size" if len(x) != len(y) else ""
    low, high = effect_interval(row.value, question.draws(settings), (len(x), len(y)), settings.confidence)
    return replace(row, p=p, details=details, note=note, low=low, high=high)


def seat_questions(rows: pd.DataFrame, measures: Iterable[Entry]) -> Iterator[list[TestQuestion]]:
    """Every test by every measure of two sets, tested together."""
    tests = list(words_of(rows, (), TARGETS))
    for measure in filter(reads_targets, measures):
        yield [TestQuestion(words, measure, "test", words.test) for words in tests]


def effects(rows: pd.DataFrame) -> dict[str, TestQuestion]:
    """The effect sizes of the tests of one scorer, by name."""
    return {test.group: test for together in seat_questions(rows, [catalog.find("measures", EFFECT)]) for test in together}


def reads_targets(measure: Entry) -> bool:
    """Return whether a measure is of the associations of two sets of targets."""
    return set(measure.parameters) == {"x", "y"}


def means_of_effects(rows: pd.DataFrame, averages: Mapping[str, Sequence[str]], settings: Settings) -> Iterator[Estimate]:
    """The mean |d| of the sets of tests that papers report; p is from permuting the targets of each test."""
    defined = {name: test for name, test in effects(rows).items() if test.is_defined}
    for domain, names in averages.items():
        run = [defined[name] for name in names if name in defined]
        if len(run) > 1:
            cell = run[0].cell
            row = Estimate(
                cell.model, cell.benchmark, run[0].FAMILY, cell.scorer, MEAN, "family", domain, len(run), neutral=0.0
            )
            yield _mean_effect(row, run, len(names) - len(run), settings)


def _mean_effect(row: Estimate, run: Sequence[TestQuestion], absent: int, settings: Settings) -> Estimate:
    draws = mean_abs_effect(np.stack([test.draws(settings) for test in run], axis=-1))
    chance = mean_abs_effect(np.stack([test.permuted(settings) for test in run], axis=-1))
    value = float(mean_abs_effect(np.array([test.value for test in run])))
    names = ", ".join(test.group for test in run)
    note = f"over {names}" + (f"; {absent} of the usual tests not run or undefined" if absent else "")
    details = {"n_permutations": len(chance), "chance": float(np.mean(chance)), "chance_sd": float(np.std(chance))}
    row = replace(row, value=value, p=permutation_p(value, chance, 0.0), details=details, note=note)
    n = sum(len(test.counts.complete) for test in run)
    return with_interval(row, catalog.find("measures", MEAN), n, draws, settings)
