"""Two models on the same association tests: paired differences over the words or attributes that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.ceat_groups import COMBINED, effects_of, resample_words
from tiltmeter.families.associations.estimate import averages_of, estimate, why_refused
from tiltmeter.families.associations.facts import Floats
from tiltmeter.families.associations.ilps import attribute_questions
from tiltmeter.families.associations.seat import MEAN, TestQuestion, effects, seat_questions
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.questions import compare_questions, with_common_items
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.stats.design import generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, each_corrected
from tiltmeter.stats.sets import exchanged_sets
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
    """Differences that are tested together, and those without a test."""
    names = [measure.name for measure in measures]
    tables = here.table, there.table
    seat = [table[table["asked"] == "seat"] for table in tables]
    yield from compare_questions(seat_questions(seat[0], measures), seat_questions(seat[1], measures), settings)
    if MEAN in names:
        yield from _averages(seat[0], seat[1], averages_of(here, here.models[0], here.benchmarks[0]), settings)
    means = [attribute_questions(table[table["asked"].isin(("ilps", "kurita"))], names) for table in tables]
    yield from compare_questions(means[:1], means[1:], settings)
    models = here.models[0], there.models[0]
    for measure in measures:
        if why := why_refused(measure):
            yield Difference(here.benchmarks[0], "associations", "", measure.name, "all", "all", *models, note=why)
    yield list(_estimated(here, there, [measure for measure in measures if measure.name in NO_INTERVAL], settings))


def _averages(
    ours: pd.DataFrame, theirs: pd.DataFrame, averages: Mapping[str, Sequence[str]], settings: Settings
) -> Iterator[Difference]:
    """The mean |d| of the sets of tests that papers report, over the targets that both models have."""
    for scorer in dict.fromkeys(ours["scorer"]):
        first, second = (effects(table[table["scorer"] == scorer]) for table in (ours, theirs))
        both = {name: with_common_items(test, second[name]) for name, test in first.items() if name in second}
        defined = {name: pair for name, pair in both.items() if all(test.is_defined for test in pair)}
        for domain, names in averages.items():
            run = [defined[name] for name in names if name in defined]
            if len(run) > 1:
                cell, other = (test.cell for test in run[0])
                place = (cell.benchmark, "associations", cell.scorer, MEAN, "family", domain, cell.model, other.model)
                yield _average(Difference(*place, n=len(run)), run, settings)


def _average(row: Difference, run: Sequence[tuple[TestQuestion, TestQuestion]], settings: Settings) -> Difference:
    """The mean |d| over tests; p exchanges the two models in random targets of every test."""
    measure, n_draws = catalog.find("measures", MEAN), settings.resamples

    def means(of_tests: Iterable[Sequence[Floats]]) -> list[Floats]:
        return [measure.function(np.stack(side, axis=-1)) for side in zip(*of_tests, strict=True)]

    def exchanged() -> tuple[Floats, bool]:
        models = [(ours.sets, theirs.sets) for ours, theirs in run]
        streams = [generator(settings.seed, "exchanged", str(len(x)), str(len(x) + len(y))) for (x, y), _ in models]
        known = zip(models, streams, strict=True)
        ours, theirs = means(exchanged_sets(effect_size, sets, n_draws, rng) for sets, rng in known)
        return ours - theirs, False

    values = [float(mean) for mean in means([np.asarray(test.value) for test in pair] for pair in run)]
    draws = means([test.draws(settings) for test in pair] for pair in run)
    units = Units.independent(sum(len(ours.counts.complete) for ours, _ in run))
    return paired_difference(row, values, draws, measure, settings, units=units, exchanged=exchanged)


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
