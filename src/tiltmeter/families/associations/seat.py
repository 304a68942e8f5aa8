"""SEAT and WEAT: effect sizes with bootstrap intervals, exact or sampled permutation p, and averages over tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST, AssociationTest
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.facts import Facts, Floats, fact, too_few
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.kit.vectors import association
from tiltmeter.measures.mean_abs_effect import mean_abs_effect
from tiltmeter.probes.embeddings import EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import Passage
from tiltmeter.probes.work import Advance
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Estimate, missing_columns
from tiltmeter.stats.intervals import effect_interval
from tiltmeter.stats.measured import neutral_of, with_interval
from tiltmeter.stats.sets import Statistic, bootstrap_sets, permuted_sets
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import SHUFFLES, permutation_p, split_p

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("X", "Y", "A", "B")
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
                    quantity=QUANTITY, value=float(value), usable=bool(there), reason=vectors.reasons.get(at[text]),
                )
                for text, value, there in zip(words.examples, of_words, keep, strict=True)
            ]  # fmt: skip
    return facts


@dataclass(frozen=True)
class Test:
    """The answers to one test: associations of the usable targets, sizes of all sets, and counts of what is missing."""

    name: str
    x: Floats
    y: Floats
    sizes: Mapping[str, int]
    missing: Counter[str]
    texts: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def few(self) -> list[tuple[str, int]]:
        """The sets with too few usable words."""
        return [(side, n) for side, n in self.sizes.items() if n < FEWEST]


def tests_of(rows: pd.DataFrame) -> Iterator[Test]:
    """The tests of one model, benchmark and scorer."""
    for name, of_test in rows.groupby("test", sort=False):
        there = of_test[of_test["usable"].astype(bool)]
        sides = {side: there[there["set"] == side] for side in SIDES}
        lacking = of_test[~of_test["usable"].astype(bool)]
        yield Test(
            str(name),
            sides["X"]["value"].to_numpy(dtype=np.float64),
            sides["Y"]["value"].to_numpy(dtype=np.float64),
            {side: len(part) for side, part in sides.items()},
            Counter(str(reason) for reason in lacking["reason"]),
            (tuple(sides["X"]["text"]), tuple(sides["Y"]["text"])),
        )


@dataclass(frozen=True)
class Judged:
    """The estimate of a test, and its effect size on resampled targets."""

    test: Test
    row: Estimate
    draws: Floats


def judge_seat(
    rows: pd.DataFrame,
    blank: Estimate,
    averages: Mapping[str, Sequence[str]],
    measures: Mapping[str, Entry],
    settings: Settings,
) -> Iterator[Estimate | list[Estimate]]:
    """Every test by every measure of two sets, tested together; then the mean |d| of the sets that papers report."""
    tests, effect = list(tests_of(rows)), catalog.find("measures", EFFECT)
    for measure in filter(reads_targets, measures.values()):
        if measure.name != EFFECT:
            yield [_judge_own(test, measure, blank, settings) for test in tests]
    averages = averages if MEAN in measures else {}
    averaged = {name for names in averages.values() for name in names} | {test.name for test in tests if EFFECT in measures}
    judged = {
        test.name: _judge(test, effect, blank, settings, tested=EFFECT in measures)
        for test in tests
        if test.name in averaged
    }
    if EFFECT in measures:
        yield [one.row for one in judged.values()]
    for domain, names in averages.items():
        run = [judged[name] for name in names if name in judged and np.isfinite(judged[name].row.value)]
        if len(run) > 1:
            yield _average(replace(blank, measure=MEAN, by="family", group=domain), run, len(names) - len(run), settings)


def reads_targets(measure: Entry) -> bool:
    """Return whether a measure is of the associations of two sets of targets."""
    return set(measure.parameters) == {"x", "y"}


def statistic_of(measure: Entry) -> Statistic:
    """Return a measure as a function of X and Y, whichever of the two it names first."""
    return lambda x, y: measure.function(x=x, y=y)


def _average(row: Estimate, run: Sequence[Judged], absent: int, settings: Settings) -> Estimate:
    """The mean |d| over tests; p is from permuting the targets of each."""
    measure, names = catalog.find("measures", MEAN), [one.test.name for one in run]
    draws = mean_abs_effect(np.stack([one.draws for one in run], axis=-1))
    chance = mean_abs_effect(np.stack([_permuted(one.test, effect_size, settings) for one in run], axis=-1))
    value = float(mean_abs_effect(np.array([one.row.value for one in run])))
    note = f"over {', '.join(names)}" + (f"; {absent} of the usual tests not run or undefined" if absent else "")
    details = {"n_permutations": len(chance), "chance": float(np.mean(chance)), "chance_sd": float(np.std(chance))}
    row = replace(row, n=len(run), value=value, p=permutation_p(value, chance, 0.0), details=details, note=note)
    return with_interval(row, measure, sum(one.row.n for one in run), draws, settings)


def _blank(test: Test, measure: Entry, blank: Estimate) -> Estimate:
    """An estimate of a test with its value, or with the reason why it has none."""
    row = replace(blank, measure=measure.name, by="test", group=test.name, **missing_columns(test.missing))
    row = replace(row, n=len(test.x) + len(test.y), neutral=neutral_of(measure))
    if test.few:
        why = f" ({', '.join(test.missing)})" if test.missing else ""
        return replace(row, note=too_few(test.few, FEWEST, "word", why))
    value = float(statistic_of(measure)(test.x, test.y))
    return replace(row, value=value, note="undefined: the associations have no spread" if np.isnan(value) else "")


def _judge(test: Test, measure: Entry, blank: Estimate, settings: Settings, *, tested: bool) -> Judged:
    """The effect size of one test over the words that have a vector.

    Without `tested` it has no p and no interval: the mean over tests needs only the value and the draws.
    """
    row = _blank(test, measure, blank)
    if np.isnan(row.value):
        return Judged(test, row, np.full(1, np.nan))
    draws = effect_draws(test.x, test.y, generator(settings.seed, "bootstrap", test.name), settings.resamples)
    if not tested:
        return Judged(test, row, draws)
    p, exact = split_p(test.x, test.y, generator(settings.seed, "splits", test.name))
    splits = comb(row.n, len(test.x))
    note = f"exact p over {splits:,} splits" if exact else f"p from {SHUFFLES:,} shuffles"
    details = {"n_splits": splits} if exact else {"n_shuffles": SHUFFLES}
    note += "; X and Y of unequal size" if len(test.x) != len(test.y) else ""
    low, high = effect_interval(row.value, draws, (len(test.x), len(test.y)), settings.confidence)
    return Judged(test, replace(row, p=p, details=details, note=note, low=low, high=high), draws)


def _judge_own(test: Test, measure: Entry, blank: Estimate, settings: Settings) -> Estimate:
    """Another measure of a test: the interval resamples the targets of X and of Y, p permutes them between the two."""
    row = _blank(test, measure, blank)
    if np.isnan(row.value):
        return row
    rng = generator(settings.seed, "bootstrap", test.name)
    statistic = statistic_of(measure)
    (draws,) = bootstrap_sets(statistic, [(test.x, test.y)], settings.resamples, rng)
    if not np.isnan(row.neutral):
        row = replace(row, p=permutation_p(row.value, _permuted(test, statistic, settings), row.neutral))
    return with_interval(row, measure, row.n, draws, settings)


def _permuted(test: Test, statistic: Statistic, settings: Settings) -> Floats:
    """A statistic after permuting the targets of a test between X and Y.

    Tests of equally many targets are permuted alike, since some are about the same words.
    """
    rng = generator(settings.seed, "permuted", str(len(test.x)), str(len(test.x) + len(test.y)))
    return permuted_sets(statistic, (test.x, test.y), settings.resamples, rng)


def effect_draws(x: Floats, y: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """d with resampled targets of X and of Y. A and B are not resampled, as in the test that p comes from.

    Resampling them too would unbalance the frames that sentences of A and B share, and so shrink every d.
    """
    return bootstrap_sets(effect_size, [(x, y)], resamples, rng)[0]
