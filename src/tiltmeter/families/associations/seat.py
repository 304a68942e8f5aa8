"""SEAT and WEAT: effect sizes with bootstrap intervals, exact or sampled permutation p, and averages over tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.benchmarks.kit.association import FEWEST, AssociationTest
from tiltmeter.families.associations.facts import Facts, Floats, counted, fact, too_few, with_interval
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.kit.vectors import association
from tiltmeter.measures.mean_abs_effect import mean_abs_effect
from tiltmeter.probes.embeddings import EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import Passage
from tiltmeter.probes.work import Advance
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.intervals import effect_interval
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


def judge_seat(
    rows: pd.DataFrame,
    blank: Estimate,
    averages: Mapping[str, Sequence[str]],
    wanted: Collection[str],
    settings: Settings,
) -> Iterator[Estimate]:
    """Every test, Holm-corrected over all of them; then the mean |d| of the sets of tests that papers report."""
    tested = EFFECT in wanted
    averages = averages if MEAN in wanted else {}
    averaged = {name for names in averages.values() for name in names}
    estimates, draws, tests = [], {}, {}
    for test in tests_of(rows):
        if tested or test.name in averaged:
            estimate, draws[test.name] = _judge(test, blank, settings, tested=tested)
            estimates.append(estimate)
            tests[test.name] = test
    if tested:
        estimates = corrected(estimates)
        yield from estimates
    values = {estimate.group: estimate.value for estimate in estimates if np.isfinite(estimate.value)}
    for domain, names in averages.items():
        run = [name for name in names if name in values]
        if len(run) < 2:
            continue
        value = float(mean_abs_effect(np.array([values[name] for name in run])))
        moved = mean_abs_effect(np.stack([draws[name] for name in run], axis=-1))
        absent = len(names) - len(run)
        units = sum(estimate.n for estimate in estimates if estimate.group in run)
        note = f"over {', '.join(run)}" + (f"; {absent} of the usual tests not run or undefined" if absent else "")
        chance = mean_abs_effect(_permuted([tests[name] for name in run], settings))
        details = {"n_permutations": len(chance), "chance": float(np.mean(chance)), "chance_sd": float(np.std(chance))}
        p = permutation_p(value, chance, 0.0)
        place = replace(blank, measure=MEAN, by="family", group=domain, n=len(run))
        known = replace(place, value=value, p=p, details=details, note=note)
        yield with_interval(known, moved, settings, units)


def _judge(test: Test, blank: Estimate, settings: Settings, *, tested: bool) -> tuple[Estimate, Floats]:
    """One test over the words that have a vector; missing if a set has too few of them or there is no spread.

    Without `tested` it has no p and no interval: the mean over tests needs only the value and the draws.
    """
    nothing = np.full(1, np.nan)
    known = replace(blank, measure=EFFECT, by="test", group=test.name, **counted(test.missing))
    known = replace(known, n=len(test.x) + len(test.y))
    if test.few:
        why = f" ({', '.join(test.missing)})" if test.missing else ""
        return replace(known, note=too_few(test.few, FEWEST, "word", why)), nothing
    value = float(effect_size(test.x, test.y))
    if np.isnan(value):
        return replace(known, note="undefined: the associations have no spread"), nothing
    draws = effect_draws(test.x, test.y, generator(settings.seed, "bootstrap", test.name), settings.resamples)
    if not tested:
        return replace(known, value=value), draws
    p, exact = split_p(test.x, test.y, generator(settings.seed, "splits", test.name))
    splits = comb(known.n, len(test.x))
    note = f"exact p over {splits:,} splits" if exact else f"p from {SHUFFLES:,} shuffles"
    details = {"n_splits": splits} if exact else {"n_shuffles": SHUFFLES}
    note += "; X and Y of unequal size" if len(test.x) != len(test.y) else ""
    low, high = effect_interval(value, draws, (len(test.x), len(test.y)), settings.confidence)
    return replace(known, value=value, p=p, details=details, note=note, low=low, high=high), draws


def _permuted(tests: Sequence[Test], settings: Settings) -> Floats:
    """Effect sizes after permuting the targets of each test between X and Y: draws × tests.

    Tests of equally many targets are permuted alike, since some are about the same words.
    """
    found = []
    for test in tests:
        both, n = np.concatenate([test.x, test.y]), len(test.x)
        rng = generator(settings.seed, "permuted", str(n), str(len(both)))
        orders = Design.independent(len(both)).orders(settings.resamples, rng)
        found.append(np.concatenate([effect_size(both[some[:, :n]], both[some[:, n:]]) for some in orders]))
    return np.stack(found, axis=-1)


def effect_draws(x: Floats, y: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """d with resampled targets of X and of Y. A and B are not resampled, as in the test that p comes from.

    Resampling them too would unbalance the frames that sentences of A and B share, and so shrink every d.
    """
    return effect_draws_alike([(x, y)], rng, resamples)[0]


def effect_draws_alike(sets: Sequence[tuple[Floats, Floats]], rng: np.random.Generator, resamples: int) -> list[Floats]:
    """`effect_draws` for several models: the same targets are drawn for all of them."""
    index = [np.concatenate(list(Design.independent(len(targets)).indices(resamples, rng))) for targets in sets[0]]
    return [effect_size(x[index[0]], y[index[1]]) for x, y in sets]
