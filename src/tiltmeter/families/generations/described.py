"""An estimate before its value is known: what it is about, how many texts, and what is missing."""

from __future__ import annotations

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judge_scores import Ints, Judged
from tiltmeter.stats.estimates import Difference, Estimate, missing_columns
from tiltmeter.stats.measured import neutral_of

FAMILY = "generations"


def described(judged: Judged, measure: Entry, by: str, group: str, rows: Ints) -> Estimate:
    """An estimate without its value: how many texts, and what is missing why."""
    place = (judged.model, judged.benchmark, FAMILY, judged.scorer, measure.name, by, group)
    return Estimate(
        *place,
        n=int(judged.sums[rows, 0].sum()),
        neutral=neutral_of(measure),
        details={**judged.details, **judged.units(rows).details},
        **missing_columns(judged.reasons(rows)),
    )


def difference_of(pair: tuple[Judged, Judged], measure: Entry, place: tuple[str, str], rows: Ints) -> Difference:
    """A difference without its value: how many prompts, and how many texts are missing by either model."""
    ours, theirs = pair
    missing = sum(sum(one.reasons(rows).values()) for one in pair)
    where = (ours.benchmark, FAMILY, ours.scorer, measure.name, *place, ours.model, theirs.model)
    return Difference(*where, n=len(rows), n_missing=missing)
