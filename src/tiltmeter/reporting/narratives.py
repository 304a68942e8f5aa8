"""Stories and tables of estimates, from the families that made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tiltmeter.families import find_family
from tiltmeter.families.kit.reading import cautions_of, told_with_caution
from tiltmeter.families.kit.story import Sheet, Story
from tiltmeter.families.kit.worst import worst_groups
from tiltmeter.reporting.evidence_text import facts_of, with_evidence

if TYPE_CHECKING:
    import pandas as pd


def stories_of(estimates: pd.DataFrame, evaluations: Iterable[Mapping[str, Any]] = ()) -> list[Story]:
    """The stories of every model, in the order of the table.

    `evaluations`: what a manifest says of them. With it, each story says what the evidence table has on its metric.
    """
    if not len(estimates):
        return []
    facts, cautions = facts_of(evaluations), cautions_of(estimates)
    plain = [story for family, rows in _by_family(estimates) for story in find_family(family).narratives(rows)]
    shown = [with_evidence(_with_worst(story, estimates), facts) for story in plain]
    stories = [told_with_caution(story, cautions.get((story.model, story.benchmark))) for story in shown]
    order = {key: n for n, key in enumerate(zip(estimates["model"], estimates["benchmark"], strict=True))}
    return sorted(stories, key=lambda story: order.get((story.model, story.benchmark), len(order)))


def _with_worst(story: Story, estimates: pd.DataFrame) -> Story:
    rows = estimates[(estimates["model"] == story.model) & (estimates["benchmark"] == story.benchmark)]
    worst = worst_groups(rows, story.head)
    return replace(story, worst=worst.sentence if worst.tested > 1 else "")  # one group only repeats the headline


def sheets_of(estimates: pd.DataFrame) -> list[Sheet]:
    """The tables of every family, overall ones first within a benchmark."""
    return [sheet for family, rows in _by_family(estimates) for sheet in find_family(family).sheets(rows)]


def overall_rows(estimates: pd.DataFrame) -> pd.DataFrame:
    """The overall estimates: about all items, a group of terms, or a test."""
    kept = [at for sheet in sheets_of(estimates) if sheet.overall for at in sheet.rows.index]
    return estimates.loc[sorted(kept)]


def _by_family(estimates: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(family), rows) for family, rows in estimates.groupby("family", sort=False)] if len(estimates) else []
