"""Refusals between groups: the share refused about each group against the mean of the groups of its category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks.kit.decisions import GROUP_COLUMNS
from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import REFUSAL_GAP_READS, is_decision
from tiltmeter.families.choices.outcomes import FEWEST_TEMPLATES, REFUSALS, cells, counts_of, design_of, group_values
from tiltmeter.families.choices.parse import EMPTY, TRUNCATED, UNPARSED
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.estimates import Details, Estimate
from tiltmeter.stats.groups import Clusters, Contrast, Groups, Rows
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("questions", "refused")
REPLIES = (*REFUSALS, EMPTY, TRUNCATED, UNPARSED)
"""Reasons of a missing answer that a reply gave, unlike a request that failed."""


def is_refusal_gap(measure: Entry) -> bool:
    """Return whether a measure compares refusals between groups."""
    return set(measure.parameters) >= REFUSAL_GAP_READS


def refusal_gaps(
    answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[list[Estimate]]:
    """Compare refusals between the groups of each column, within categories of questions, where anything was refused.

    Intervals are bootstraps over templates. p permutes whole templates over the groups, or groups within the templates that
    have several, and is Holm-corrected over the groups of a category.
    """
    for cell in cells(answers) if measures else ():
        for column, category, groups in _categories(cell.rows, answers, by, settings):
            for measure in measures:
                place = (cell.model, cell.benchmark, "choices", cell.scorer, measure.name, column, "")
                base = Estimate(*place, neutral=neutral_of(measure))
                yield [_estimate(replace(base, group=name), groups, measure, category) for name in groups.at]


def _categories(
    rows: pd.DataFrame, answers: Answers, by: Sequence[str], settings: Settings
) -> Iterator[tuple[str, str, Groups]]:
    """Go through columns and categories with groups to compare. Decisions are about the same groups in all domains."""
    together, benchmark = is_decision(rows), rows["benchmark"].iloc[0]
    categories = np.full(len(rows), "all") if together else rows["bias_type"].to_numpy()
    for column in dict.fromkeys((*(GROUP_COLUMNS if together else ()), *by)):
        if column in ("all", "bias_type"):
            continue
        names = group_values(rows, answers, column)
        for category in dict.fromkeys(categories):
            here = categories == category
            labels = "refusals", str(benchmark), column, str(category)
            groups = grouped(rows[here], names[here], settings, labels)
            if groups is not None:
                yield column, str(category), groups


def grouped(rows: pd.DataFrame, names: Any, settings: Settings, labels: tuple[str, ...]) -> Groups | None:
    """Group the questions of one category; nothing unless there are two groups, and anything was refused."""
    known = np.array([isinstance(name, str) for name in names], dtype=bool)  # a question may have no group
    known &= (rows["chosen"].notna() | rows["reason"].isin(REPLIES)).to_numpy()  # a reply that never came is missing
    rows, names = rows[known], names[known].astype(str)
    counts, design = counts_of(rows), design_of(rows)
    at = {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
    if len(at) < 2 or not counts["refused"].any():
        return None
    clusters = Clusters(design.cluster, "templates", np.ones(design.n_clusters, dtype=bool))
    sums = np.stack([counts[name] for name in COLUMNS], axis=1)
    return Rows(sums, COLUMNS, labels, clusters).jointly(at, design, settings)


def _estimate(row: Estimate, groups: Groups, measure: Entry, category: str) -> Estimate:
    """Estimate the gap of a group to the mean of the groups."""
    n = groups.names.index(row.group)
    n_templates, contrast = groups.units[n].n, Contrast(measure, "refused", n)
    details: Details = {"n_templates": n_templates, "n_groups": len(groups.at), "bias_type": category}
    row = replace(row, n=int(groups.sums[n, 0]), value=float(groups.value(contrast)), details=details)
    if n_templates < FEWEST_TEMPLATES:
        return replace(row, note=f"no interval and no test: fewer than {FEWEST_TEMPLATES} templates")
    return groups.estimated(row, contrast)
