"""Estimating associations from stored answers: effect sizes, combined effects and increases, with intervals and p."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.ceat import ceat_questions
from tiltmeter.families.associations.domains import VARIANCE
from tiltmeter.families.associations.ilps import attribute_questions
from tiltmeter.families.associations.seat import MEAN, means_of_effects, reads_targets, seat_questions
from tiltmeter.families.associations.words import WordQuestion, variances
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.questions import estimate_alone
from tiltmeter.stats.estimates import Estimate, each_corrected
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.progress import watched

if TYPE_CHECKING:
    import pandas as pd

NOT_STORED = (
    "not computed: of a measure of one's own stored answers have x and y (associations of two sets of targets), not {}"
)


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every test, group and domain for every model and benchmark; `by` says which of these a number is about.

    SEAT: the targets are drawn anew for the interval; p is one-sided, from splits of X ∪ Y. CEAT: the interval and p come
    from the random-effects model; p is one-sided for X against Y, two-sided for a group. ILPS: the attributes are drawn
    anew for the interval, their signs flipped for p, two-sided. Holm-corrected over the tests or groups of a benchmark.
    """
    cells = [answers.where(model=model, benchmark=name) for model in answers.models for name in answers.benchmarks]
    with watched("Estimating associations", len(cells)) as advance:
        for cell in filter(len, cells):
            yield from each_corrected(_estimated(cell, measures, settings))
            blank = Estimate(cell.models[0], cell.benchmarks[0], answers.family, "", "", "all", "all")
            refused = ((measure, why_refused(measure)) for measure in measures)
            yield from (replace(blank, measure=measure.name, note=why) for measure, why in refused if why)
            advance(1)


def _estimated(cell: Answers, measures: Sequence[Entry], settings: Settings) -> Iterator[Estimate | list[Estimate]]:
    """Questions that are tested together, with the variances over their groups; then means over tests."""
    names = {measure.name for measure in measures}
    for together in questions_of(cell, measures):
        yield [estimate_alone(question, settings).row for question in together if question.measure.name in names]
        yield from variances(together, settings) if VARIANCE in names else ()
    for rows in of_scorers(cell, "seat") if MEAN in names else ():
        yield from means_of_effects(rows, averages_of(cell), settings)


def questions_of(cell: Answers, measures: Sequence[Entry]) -> Iterator[Sequence[WordQuestion]]:
    """All questions about the answers of one model to one benchmark, in lists that are tested together."""
    draws = cell.get("draws")
    for rows in of_scorers(cell, "seat"):
        yield from seat_questions(rows, measures)
    for rows in of_scorers(cell, "ceat") if draws is not None else ():
        yield ceat_questions(rows, draws)
    for rows in (*of_scorers(cell, "ilps"), cell.table[cell.table["asked"] == "kurita"]):
        yield attribute_questions(rows)


def of_scorers(cell: Answers, asked: str) -> list[pd.DataFrame]:
    """The rows of one kind by each scorer."""
    return [rows for _, rows in cell.table[cell.table["asked"] == asked].groupby("scorer", sort=False)]


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
