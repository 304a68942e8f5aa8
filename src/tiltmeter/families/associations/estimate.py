"""Estimates of association tests and differences of two models: effect sizes, combined effects and increases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.ceat import ceat_questions
from tiltmeter.families.associations.domains import VARIANCE
from tiltmeter.families.associations.facts import DRAW_COLUMNS, Floats
from tiltmeter.families.associations.ilps import attribute_questions
from tiltmeter.families.associations.seat import MEAN, TestQuestion, effects, means_of_effects, reads_targets, seat_questions
from tiltmeter.families.associations.words import WordQuestion, variances
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.questions import Batch, compare_questions, estimate_questions, with_common_items
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.stats.design import generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.sets import exchanged_sets
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import Units

if TYPE_CHECKING:
    import pandas as pd

NOT_STORED = (
    "not computed: of a measure of one's own stored answers have x and y (associations of two sets of targets), not {}"
)
NO_INTERVAL = "no paired interval: each value is a variance over groups with its own interval"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every test, group and domain for every model and benchmark; `by` says which of these a number is about.

    SEAT: the targets are drawn anew for the interval; p is one-sided, from splits of X ∪ Y. CEAT: the interval and p come
    from the random-effects model; p is one-sided for X against Y, two-sided for a group. ILPS: the attributes are drawn
    anew for the interval, their signs flipped for p, two-sided. Holm-corrected over the tests or groups of a benchmark.
    """
    places = answers.table[["model", "benchmark"]].drop_duplicates().itertuples(index=False)
    for model, benchmark in places:
        yield from estimate_questions(
            _batches(answers.where(model=model, benchmark=benchmark), measures, settings), settings
        )


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
        yield from _rows(ours.where(benchmark=benchmark), theirs.where(benchmark=benchmark), measures, settings)


def _batches(cell: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Batch]:
    """Questions that are tested together, with the variances over their groups; then means over tests, and refusals."""
    names = {measure.name for measure in measures}
    for together in questions_of(cell, measures):
        yield [question for question in together if question.measure.name in names]
        yield from variances(together, settings) if VARIANCE in names else ()
    for rows in of_scorers(cell, "seat") if MEAN in names else ():
        yield from means_of_effects(rows, averages_of(cell), settings)
    for measure in measures:
        if why := why_refused(measure):
            yield Estimate(cell.models[0], cell.benchmarks[0], cell.family, "", measure.name, "all", "all", note=why)


def questions_of(cell: Answers, measures: Sequence[Entry]) -> Iterator[Sequence[WordQuestion]]:
    """All questions about the answers of one model to one benchmark, in lists that are tested together."""
    import pandas as pd

    draws = cell.get("draws")
    for rows in of_scorers(cell, "seat"):
        yield from seat_questions(rows, measures)
    for rows in of_scorers(cell, "ceat"):
        yield ceat_questions(rows, pd.DataFrame(columns=list(DRAW_COLUMNS)) if draws is None else draws)
    for rows in (*of_scorers(cell, "ilps"), cell.table[cell.table["asked"] == "kurita"]):
        yield attribute_questions(rows)


def of_scorers(cell: Answers, kind: str) -> list[pd.DataFrame]:
    """The rows of one kind by each scorer."""
    return [rows for _, rows in cell.table[cell.table["asked"] == kind].groupby("scorer", sort=False)]


def why_refused(measure: Entry) -> str:
    """Return why a measure of one's own cannot be computed from stored answers; empty if it can."""
    if reads_targets(measure) or catalog.owner("measures", measure.name) == "tiltmeter":
        return ""
    return NOT_STORED.format(", ".join(measure.parameters))


def averages_of(cell: Answers) -> Mapping[str, Sequence[str]]:
    """The sets of tests whose mean |d| papers report, from the manifest."""
    manifest = cell.manifest_of(cell.models[0], cell.benchmarks[0])
    averages: Mapping[str, Sequence[str]] = manifest.get("associations", {}).get("averages", {})
    return averages


def _rows(ours: Answers, theirs: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Difference]:
    """Differences that are tested together, and those without a test."""
    names = [measure.name for measure in measures]
    own, others = ([question for part in questions_of(side, measures) for question in part] for side in (ours, theirs))
    kinds: dict[tuple[object, str], list[WordQuestion]] = {}
    for question in own:
        name = question.measure.name if isinstance(question, TestQuestion) else ""
        kinds.setdefault((type(question), name), []).append(question)
    for together in kinds.values():
        wanted = [question for question in together if question.measure.name in names]
        yield from compare_questions([wanted], [others], settings)
    if VARIANCE in names:
        yield from _variances(own, others, settings)
    if MEAN in names:
        seat = [side.table[side.table["asked"] == "seat"] for side in (ours, theirs)]
        yield from _averages(seat[0], seat[1], averages_of(ours), settings)
    place = (ours.benchmarks[0], "associations", "")
    for measure in measures:
        if why := why_refused(measure):
            yield Difference(*place, measure.name, "all", "all", ours.models[0], theirs.models[0], note=why)


def _averages(
    ours: pd.DataFrame, theirs: pd.DataFrame, averages: Mapping[str, Sequence[str]], settings: Settings
) -> Iterator[Difference]:
    """The mean |d| of the sets of tests that papers report, over the targets that both models have."""
    for scorer in dict.fromkeys(ours["scorer"]):
        first, second = (effects(table[table["scorer"] == scorer]) for table in (ours, theirs))
        pairs = {name: with_common_items(test, second[name]) for name, test in first.items() if name in second}
        defined = {name: pair for name, pair in pairs.items() if all(test.is_defined for test in pair)}
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


def _variances(ours: Sequence[WordQuestion], theirs: Sequence[WordQuestion], settings: Settings) -> Iterator[Difference]:
    """Variances over the groups of each domain, of the words that both models have."""
    reference = {question.subject: question for question in theirs}
    pairs = [with_common_items(question, reference[question.subject]) for question in ours if question.subject in reference]
    sides = ([pair[side] for pair in pairs] for side in (0, 1))
    for row, other in zip(*(variances(questions, settings) for questions in sides), strict=True):
        yield Difference(
            *(row.benchmark, row.family, row.scorer, row.measure, row.by, row.group, row.model, other.model),
            n=min(row.n, other.n), value=row.value, baseline_value=other.value, difference=row.value - other.value,
            note=NO_INTERVAL,
        )  # fmt: skip
