"""Stories and tables of estimates, from the families that made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tiltmeter.families import find_family
from tiltmeter.families.kit.reading import cautions_of, told_with_caution
from tiltmeter.families.kit.story import Sheet, Story
from tiltmeter.reporting.known_tilts import digests, kinds, with_known_tilts

if TYPE_CHECKING:
    import pandas as pd


def stories_of(estimates: pd.DataFrame, evaluations: Iterable[Mapping[str, Any]] = ()) -> list[Story]:
    """The stories of every model, in the order of the table.

    `evaluations`: what a manifest tells of them. With it, a reading by a metric that we calibrated on the same data is told
    as a dose, too.
    """
    if not len(estimates):
        return []
    asked = list(evaluations)
    cautions = cautions_of(estimates)
    told = [story for family, rows in _by_family(estimates) for story in find_family(family).narratives(rows)]
    data, kind = digests(asked), kinds(asked)
    told = [with_known_tilts(story, estimates, data, kind.get(story.model, "")) for story in told]
    stories = [told_with_caution(story, cautions.get((story.model, story.benchmark))) for story in told]
    order = {key: n for n, key in enumerate(zip(estimates["model"], estimates["benchmark"], strict=True))}
    return sorted(stories, key=lambda story: order.get((story.model, story.benchmark), len(order)))


def sheets_of(estimates: pd.DataFrame) -> list[Sheet]:
    """The tables of every family, overall ones first within a benchmark."""
    return [sheet for family, rows in _by_family(estimates) for sheet in find_family(family).sheets(rows)]


def overall_rows(estimates: pd.DataFrame) -> pd.DataFrame:
    """The overall estimates: about all items, a group of terms, or a test."""
    kept = [at for sheet in sheets_of(estimates) if sheet.overall for at in sheet.rows.index]
    return estimates.loc[sorted(kept)]


def _by_family(estimates: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(family), rows) for family, rows in estimates.groupby("family", sort=False)] if len(estimates) else []
