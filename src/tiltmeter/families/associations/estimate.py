"""Estimating associations from stored answers: effect sizes, combined effects and increases, with intervals and p."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.associations.ceat import judge_ceat
from tiltmeter.families.associations.facts import DRAW_COLUMNS
from tiltmeter.families.associations.ilps import attribute_questions, judge_ilps
from tiltmeter.families.associations.seat import judge_seat, reads_targets
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
    wanted = {measure.name: measure for measure in measures}
    cells = list(answers.table.groupby(["model", "benchmark"], sort=False))
    with watched("Estimating associations", len(cells)) as advance:
        for (model, benchmark), rows in cells:
            blank = Estimate(str(model), str(benchmark), answers.family, "", "", "", "", neutral=0.0)
            averages = averages_of(answers, str(model), str(benchmark))
            draws = draws_of_cell(answers, str(model), str(benchmark))
            yield from each_corrected(_judge(rows, draws, blank, averages, wanted, settings))
            blank = replace(blank, by="all", group="all", neutral=np.nan)
            refused = ((measure, why_refused(measure)) for measure in measures)
            yield from (replace(blank, measure=measure.name, note=why) for measure, why in refused if why)
            advance(1)


def _judge(
    rows: pd.DataFrame,
    draws: pd.DataFrame,
    blank: Estimate,
    averages: Mapping[str, Sequence[str]],
    wanted: Mapping[str, Entry],
    settings: Settings,
) -> Iterator[Estimate | list[Estimate]]:
    for asked, of_kind in rows.groupby("asked", sort=False):
        if asked == "kurita":
            yield [estimate_alone(question, settings).row for question in attribute_questions(of_kind, wanted)]
            continue
        for scorer, of_scorer in of_kind.groupby("scorer", sort=False):
            known = replace(blank, scorer=str(scorer))
            if asked == "seat":
                yield from judge_seat(of_scorer, known, averages, wanted, settings)
            elif asked == "ceat":
                yield from judge_ceat(of_scorer, draws[draws["scorer"] == scorer], known, wanted, settings)
            else:
                yield from judge_ilps(of_scorer, known, wanted, settings)


def why_refused(measure: Entry) -> str:
    """Return why a measure of one's own cannot be computed from stored answers; empty if it can."""
    if reads_targets(measure) or catalog.owner("measures", measure.name) == "tiltmeter":
        return ""
    return NOT_STORED.format(", ".join(measure.parameters))


def averages_of(answers: Answers, model: str, benchmark: str) -> Mapping[str, Sequence[str]]:
    """The sets of tests whose mean |d| papers report, from the manifest."""
    averages: Mapping[str, Sequence[str]] = answers.manifest_of(model, benchmark).get("associations", {}).get("averages", {})
    return averages


def draws_of_cell(answers: Answers, model: str, benchmark: str) -> pd.DataFrame:
    """CEAT's draws of one model and benchmark."""
    import pandas as pd

    draws = answers.get("draws")
    if draws is None:
        return pd.DataFrame(columns=list(DRAW_COLUMNS))
    return draws[(draws["model"] == model) & (draws["benchmark"] == benchmark)]
