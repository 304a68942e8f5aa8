"""Two models on the same association tests: paired differences over the words or attributes that both have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.estimate import averages_of, estimate
from tiltmeter.families.associations.facts import Floats, too_few
from tiltmeter.families.associations.seat import Test, effect_draws_alike, tests_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.stats.design import Design
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, corrected
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import sign_flip_p
from tiltmeter.stats.spread import weighted_means
from tiltmeter.stats.units import Units

if TYPE_CHECKING:
    import pandas as pd

NO_INTERVAL = {
    "ces": "no paired interval: each model's draws were combined by a separate random-effects model",
    "group_variance": "no paired interval: each value is a variance over groups with its own interval",
}


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the targets or attributes that both have.

    SEAT: the same targets are drawn for both models; ILPS: the same attributes, and the signs of their differences are
    flipped for p. CEAT's combined effects and variances over groups are compared without an interval, and the
    note says why. Holm-corrected over the tests or groups of a benchmark.
    """
    ours, theirs = answers.where(model=first), answers.where(model=second)
    wanted = {measure.name for measure in measures}
    for benchmark in ours.benchmarks:
        if benchmark not in theirs.benchmarks:
            continue
        here, there = (part.where(benchmark=benchmark) for part in (ours, theirs))
        for rows in (_seat(here, there, settings), _attributes(here, there, settings)):
            kept = [row for row in rows if row.measure in wanted]
            tested = [row for row in kept if row.by != "family"]
            yield from corrected(tested)
            yield from (row for row in kept if row.by == "family")
        yield from _without_interval(here, there, [measure for measure in measures if measure.name in NO_INTERVAL], settings)


def _place(here: pd.DataFrame, there: pd.DataFrame, scorer: str, measure: str, by: str, group: str) -> Difference:
    models = (str(here["model"].iloc[0]), str(there["model"].iloc[0]))
    return Difference(str(here["benchmark"].iloc[0]), "associations", scorer, measure, by, group, *models)


def _seat(ours: Answers, theirs: Answers, settings: Settings) -> Iterator[Difference]:
    measure = catalog.find("measures", "effect_size")
    tables = [part.table[part.table["asked"] == "seat"] for part in (ours, theirs)]
    for scorer in dict.fromkeys(tables[0]["scorer"]) if len(tables[0]) and len(tables[1]) else ():
        rows = [table[table["scorer"] == scorer] for table in tables]
        tests = [{test.name: test for test in tests_of(part)} for part in rows]
        values, draws, common = {}, {}, {}
        for name, test in tests[0].items():
            if name not in tests[1]:
                continue
            sets = _common(test, tests[1][name])
            known = _place(rows[0], rows[1], str(scorer), measure.name, "test", name)
            n = sum(map(len, sets[0]))
            known = replace(known, n=n, n_missing=_size(test, tests[1][name]) - n)
            few = [(side, n) for side, n in zip(("X", "Y"), map(len, sets[0]), strict=True) if n < FEWEST]
            few += test.few + tests[1][name].few
            if few:
                yield replace(known, note=too_few(list(dict.fromkeys(few)), FEWEST, "word", " for both models"))
                continue
            common[name] = sets
            values[name] = [float(effect_size(*targets)) for targets in sets]
            rng = generator(settings.seed, "bootstrap", name)
            draws[name] = effect_draws_alike(sets, rng, settings.resamples)
            yield paired_difference(known, values[name], draws[name], measure, settings)
        yield from _means(rows, str(scorer), averages(ours, rows[0]), values, draws, common, settings)


def _size(ours: Test, theirs: Test) -> int:
    """Number of targets that either model was queried about."""
    return max(sum(test.sizes[side] for side in ("X", "Y")) for test in (ours, theirs))


def _common(ours: Test, theirs: Test) -> list[tuple[Floats, Floats]]:
    """The associations of the targets that both models have, of each model."""
    sets = []
    for side in (0, 1):
        place = {text: n for n, text in enumerate(theirs.texts[side])}
        here = [n for n, text in enumerate(ours.texts[side]) if text in place]
        there = [place[ours.texts[side][n]] for n in here]
        sets.append(((ours.x, ours.y)[side][here], (theirs.x, theirs.y)[side][there]))
    return [(sets[0][model], sets[1][model]) for model in (0, 1)]


def averages(answers: Answers, rows: pd.DataFrame) -> dict[str, Sequence[str]]:
    """The sets of tests whose mean |d| papers report."""
    return dict(averages_of(answers, str(rows["model"].iloc[0]), str(rows["benchmark"].iloc[0])))


def _means(
    rows: Sequence[pd.DataFrame],
    scorer: str,
    named: dict[str, Sequence[str]],
    values: dict[str, list[float]],
    draws: dict[str, list[Floats]],
    common: dict[str, list[tuple[Floats, Floats]]],
    settings: Settings,
) -> Iterator[Difference]:
    measure = catalog.find("measures", "mean_abs_effect")
    for domain, names in named.items():
        run = [name for name in names if name in values and np.isfinite(values[name]).all()]
        if len(run) < 2:
            continue
        means = [float(measure.function(np.array([values[name][model] for name in run]))) for model in (0, 1)]
        moved = [measure.function(np.stack([draws[name][model] for name in run], axis=-1)) for model in (0, 1)]
        known = replace(_place(rows[0], rows[1], scorer, measure.name, "family", domain), n=len(run))
        units = Units.independent(sum(len(side) for name in run for side in common[name][0]))
        exchanged = partial(_exchanged, [common[name] for name in run], measure, settings)
        yield paired_difference(known, means, moved, measure, settings, units=units, exchanged=exchanged)


def _exchanged(tests: Sequence[list[tuple[Floats, Floats]]], measure: Entry, settings: Settings) -> tuple[Floats, bool]:
    """Differences of the mean |d| after exchanging the two models in random targets of every test."""
    sides: tuple[list[Floats], list[Floats]] = ([], [])
    for ours, theirs in tests:
        n, both = len(ours[0]), [np.concatenate(one) for one in (ours, theirs)]
        rng = generator(settings.seed, "exchanged", str(n), str(len(both[0])))
        flips = Design.independent(len(both[0])).flip(settings.resamples, rng)[0]
        flip = np.resize(np.concatenate(list(flips)), (settings.resamples, len(both[0])))
        for side, (one, other) in zip(sides, (both, both[::-1]), strict=True):
            values = np.where(flip, other, one)
            side.append(effect_size(values[:, :n], values[:, n:]))
    first, second = (measure.function(np.stack(side, axis=-1)) for side in sides)
    return first - second, False


def _attributes(ours: Answers, theirs: Answers, settings: Settings) -> Iterator[Difference]:
    """ILPS and Kurita's direction of it: a mean over attributes, over those that both models were queried about."""
    tables = [part.table[part.table["asked"].isin(("ilps", "kurita"))] for part in (ours, theirs)]
    if not len(tables[0]) or not len(tables[1]):
        return
    keys = ["quantity", "scorer", "domain", "test", "set"]
    reference = dict(list(tables[1].groupby(keys, sort=False)))
    for key, here in tables[0].groupby(keys, sort=False):
        there = reference.get(key)
        if there is None:
            continue
        quantity, scorer, _, test, group = map(str, key)
        by, name = ("attributes", test) if quantity == "ilps_kurita" else ("group", group)
        known = _place(here, there, scorer, quantity, by, name)
        both = here.set_index("text")["value"].to_frame("ours").join(there.set_index("text")["value"].rename("theirs"))
        whole = both.dropna().to_numpy(dtype=np.float64)
        known = replace(known, n=len(whole), n_missing=len(both) - len(whole))
        if len(whole) < FEWEST:
            yield replace(known, note=too_few([(name, len(whole))], FEWEST, "attribute", " for both models"))
            continue
        rng = generator(settings.seed, "compare", quantity, scorer, name)
        draws = weighted_means(whole, settings.resamples, rng).T
        p = sign_flip_p(whole[:, 0] - whole[:, 1], rng)
        values = [float(whole[:, model].mean()) for model in (0, 1)]
        yield paired_difference(known, values, list(draws), catalog.find("measures", quantity), settings, p)


def _with_common_texts(ours: Answers, theirs: Answers) -> tuple[Answers, Answers]:
    """Both without the words of a group, or attributes, that either model has no value of."""
    place = ["scorer", "test", "set", "text"]
    known = [set(_keys(part.table[part.table["usable"].astype(bool)], place)) for part in (ours, theirs)]
    lost = {key for part in (ours, theirs) for key in _keys(part.table, place)} - (known[0] & known[1])

    def kept(frame: pd.DataFrame) -> pd.DataFrame:
        if not lost or not set(place) <= set(frame):
            return frame
        there = np.array([key not in lost for key in _keys(frame, place)], dtype=bool)
        if "usable" not in frame:  # draws
            return frame[there].reset_index(drop=True)
        return frame.assign(value=frame["value"].where(there), usable=frame["usable"].astype(bool) & there)

    return ours.mapped(kept), theirs.mapped(kept)


def _keys(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(frame[name].fillna("").astype(str) for name in columns), strict=True))


def _without_interval(ours: Answers, theirs: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Difference]:
    """Measures without a paired interval: both values, their difference, and a note that says why.

    SEAT has none of them, and its hundred thousand shuffles for every test would be for nothing.
    """
    if not measures:
        return
    ours, theirs = _with_common_texts(ours, theirs)
    estimates = [
        {(row.scorer, row.measure, row.by, row.group): row for row in estimate(part, measures, (), settings)}
        for part in (side.where(asked=[kind for kind in side.table["asked"].unique() if kind != "seat"])
                     for side in (ours, theirs))
    ]  # fmt: skip
    for key, row in estimates[0].items():
        other = estimates[1].get(key)
        if other is not None:
            yield Difference(
                row.benchmark, row.family, *key, row.model, other.model, n=min(row.n, other.n), value=row.value,
                baseline_value=other.value, difference=row.value - other.value, note=NO_INTERVAL[row.measure],
            )  # fmt: skip
