"""Two models on the same association tests: paired differences over the words or attributes that both have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.ceat_groups import COMBINED, effects_of, resample_words
from tiltmeter.families.associations.estimate import averages_of, estimate, why_refused
from tiltmeter.families.associations.facts import Floats, too_few
from tiltmeter.families.associations.seat import MEAN, Test, reads_targets, statistic_of, tests_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.matching import common_places
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.stats.design import generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.sets import Sets, bootstrap_sets, compare_means, exchanged_sets
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import Units

if TYPE_CHECKING:
    import pandas as pd

NO_INTERVAL = {
    "ces": "no paired interval: the draws of a test say nothing of other words, and the more there are the less they vary",
    "group_variance": "no paired interval: each value is a variance over groups with its own interval",
}


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model minus the second, over the targets or attributes that both have.

    SEAT: the same targets are drawn for both models; ILPS: the same attributes, and the signs of their differences are
    flipped for p; CEAT: the same words of a group and draws of contexts. Combined effects of tests of two sets and
    variances over groups are compared without an interval, and the note says why. Holm-corrected over the tests or groups
    of a benchmark.
    """
    ours, theirs = answers.where(model=first), answers.where(model=second)
    for benchmark in (name for name in ours.benchmarks if name in theirs.benchmarks):
        here, there = (part.where(benchmark=benchmark) for part in (ours, theirs))
        yield from each_corrected(_rows(here, there, measures, settings))


def _rows(
    here: Answers, there: Answers, measures: Sequence[Entry], settings: Settings
) -> Iterator[Difference | list[Difference]]:
    """Differences that are tested together, and the means over tests of a family, which are not."""
    names = [measure.name for measure in measures]
    of_tests, of_attributes = list(_seat(here, there, measures, settings)), list(_attributes(here, there, settings))
    for name in names:
        yield [row for row in of_tests if row.by != "family" and row.measure == name]
    yield from (row for row in of_tests if row.by == "family")
    yield [row for row in of_attributes if row.measure in names]
    refused = [(measure, why) for measure in measures if (why := why_refused(measure))]
    tables = here.table, there.table
    yield from (replace(_place(*tables, "", measure.name, "all", "all"), note=why) for measure, why in refused)
    yield list(_estimated(here, there, [measure for measure in measures if measure.name in NO_INTERVAL], settings))


def _place(here: pd.DataFrame, there: pd.DataFrame, scorer: str, measure: str, by: str, group: str) -> Difference:
    models = (str(here["model"].iloc[0]), str(there["model"].iloc[0]))
    return Difference(str(here["benchmark"].iloc[0]), "associations", scorer, measure, by, group, *models)


def _seat(ours: Answers, theirs: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Difference]:
    """Every test by every measure of two sets of targets, and the mean |d| of the sets of tests that papers report."""
    tables = [part.table[part.table["asked"] == "seat"] for part in (ours, theirs)]
    for scorer in dict.fromkeys(tables[0]["scorer"]) if len(tables[0]) and len(tables[1]) else ():
        rows = [table[table["scorer"] == scorer] for table in tables]
        tests = [{test.name: test for test in tests_of(part)} for part in rows]
        both = {name: (test, tests[1][name]) for name, test in tests[0].items() if name in tests[1]}
        known = _place(rows[0], rows[1], str(scorer), "", "test", "")
        for measure in filter(reads_targets, measures):
            row = replace(known, measure=measure.name)
            yield from (_test(replace(row, group=name), pair, measure, settings) for name, pair in both.items())
        sets = [(name, _common(*pair)) for name, pair in both.items() if not _few(pair)]
        defined = {name: of_test for name, of_test in sets if np.isfinite([effect_size(*side) for side in of_test]).all()}
        for domain, names in averages_of(ours, known.model, known.benchmark).items():
            run = [name for name in names if name in defined]
            if len(run) > 1 and any(measure.name == MEAN for measure in measures):
                row = replace(known, measure=MEAN, by="family", group=domain, n=len(run))
                yield _average(row, {name: defined[name] for name in run}, settings)


def _test(row: Difference, tests: tuple[Test, Test], measure: Entry, settings: Settings) -> Difference:
    """One test over the targets that both models have."""
    sets = _common(*tests)
    n = sum(map(len, sets[0]))
    row = replace(row, n=n, n_missing=_size(*tests) - n)
    if few := _few(tests):
        return replace(row, note=too_few(few, FEWEST, "word", " for both models"))
    rng = generator(settings.seed, "bootstrap", row.group)
    statistic = statistic_of(measure)
    draws = bootstrap_sets(statistic, sets, settings.resamples, rng)
    return paired_difference(row, [float(statistic(*side)) for side in sets], draws, measure, settings)


def _few(tests: tuple[Test, Test]) -> list[tuple[str, int]]:
    """The sets with too few words for both models."""
    sides = [(side, n) for side, n in zip(("X", "Y"), map(len, _common(*tests)[0]), strict=True) if n < FEWEST]
    return list(dict.fromkeys(sides + tests[0].few + tests[1].few))


def _size(ours: Test, theirs: Test) -> int:
    """Number of targets that either model was queried about."""
    return max(sum(test.sizes[side] for side in ("X", "Y")) for test in (ours, theirs))


def _common(ours: Test, theirs: Test) -> tuple[Sets, Sets]:
    """The associations of the targets that both models have, of each model."""
    (x, their_x), (y, their_y) = (common_places(ours.texts[side], theirs.texts[side]) for side in (0, 1))
    return (ours.x[x], ours.y[y]), (theirs.x[their_x], theirs.y[their_y])


def _average(row: Difference, tests: dict[str, tuple[Sets, Sets]], settings: Settings) -> Difference:
    """The mean |d| over tests; p exchanges the two models in random targets of every test."""
    measure, n_draws = catalog.find("measures", MEAN), settings.resamples

    def means(of_tests: Iterator[Sequence[Floats]]) -> list[Floats]:
        return [measure.function(np.stack(side, axis=-1)) for side in zip(*of_tests, strict=True)]

    def exchanged() -> tuple[Floats, bool]:
        streams = [generator(settings.seed, "exchanged", str(len(x)), str(len(x) + len(y))) for (x, y), _ in tests.values()]
        known = zip(tests.values(), streams, strict=True)
        ours, theirs = means(exchanged_sets(effect_size, sets, n_draws, rng) for sets, rng in known)
        return ours - theirs, False

    values = [float(mean) for mean in means([effect_size(*side) for side in sets] for sets in tests.values())]
    streams = (generator(settings.seed, "bootstrap", name) for name in tests)
    draws = means(bootstrap_sets(effect_size, sets, n_draws, rng) for sets, rng in zip(tests.values(), streams, strict=True))
    units = Units.independent(sum(len(side) for sets in tests.values() for side in sets[0]))
    return paired_difference(row, values, draws, measure, settings, units=units, exchanged=exchanged)


def _attributes(ours: Answers, theirs: Answers, settings: Settings) -> Iterator[Difference]:
    """ILPS and Kurita's direction of it: a mean over attributes, over those that both models were queried about."""
    keys = ["quantity", "scorer", "domain", "test", "set"]
    tables = [part.table[part.table["asked"].isin(("ilps", "kurita"))] for part in (ours, theirs)]
    reference = dict(list(tables[1].groupby(keys, sort=False)))
    for key, here in tables[0].groupby(keys, sort=False):
        if key not in reference:
            continue
        quantity, scorer, _, test, group = map(str, key)
        by, name = ("attributes", test) if quantity == "ilps_kurita" else ("group", group)
        values = [side.set_index("text")["value"].rename(which) for which, side in enumerate((here, reference[key]))]
        both = values[0].to_frame().join(values[1])
        whole = both.dropna().to_numpy(dtype=np.float64)
        row = _place(here, reference[key], scorer, quantity, by, name)
        row = replace(row, n=len(whole), n_missing=len(both) - len(whole))
        if len(whole) < FEWEST:
            yield replace(row, note=too_few([(name, len(whole))], FEWEST, "attribute", " for both models"))
            continue
        rng = generator(settings.seed, "compare", quantity, scorer, name)
        yield compare_means(row, catalog.find("measures", quantity), whole, rng, settings)


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


def _estimated(ours: Answers, theirs: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Difference]:
    """Measures of each model's estimates over common words. Of groups of words both are resampled, others have no interval.

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
            known = Difference(
                row.benchmark, row.family, *key, row.model, other.model, n=min(row.n, other.n), value=row.value,
                baseline_value=other.value, difference=row.value - other.value, note=NO_INTERVAL[row.measure],
            )  # fmt: skip
            is_of_words = row.measure == COMBINED and row.by == "group" and np.isfinite(known.difference)
            yield _of_words(known, (ours, theirs), settings) if is_of_words else known


def _of_words(row: Difference, models: tuple[Answers, Answers], settings: Settings) -> Difference:
    """Combined effects of a group: the same words, and the same draws of contexts, are drawn for both models."""
    tables = [part.tables["draws"] for part in models]
    parts = [draws[(draws["scorer"] == row.scorer) & (draws["set"] == row.group)] for draws in tables]
    words = list(dict.fromkeys(parts[0]["text"]))
    effects = [effects_of(draws, words) for draws in parts]
    if effects[0].shape != effects[1].shape:
        return replace(row, note="no paired interval: the models have different numbers of draws of contexts")
    draws = [resample_words(of_model, settings, row.group) for of_model in effects]
    units = Units.independent(len(words))
    measure = catalog.find("measures", row.measure)
    return paired_difference(replace(row, note=""), [row.value, row.baseline_value], draws, measure, settings, units=units)
