"""Refusals between groups: the share refused about each group against the mean of the groups of its category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks.kit.decisions import GROUP_COLUMNS
from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import REFUSAL_GAP_READS, is_decision
from tiltmeter.families.choices.outcomes import FEWEST_TEMPLATES, REFUSALS, Floats, cells, counts_of, design_of, group_values
from tiltmeter.families.choices.parse import EMPTY, TRUNCATED, UNPARSED
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Details, Estimate
from tiltmeter.stats.group_tests import Pieces, group_test
from tiltmeter.stats.measured import neutral_of, with_interval
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
    for (model, benchmark, scorer), rows in cells(answers):
        for column, category, of_category in _categories(rows, answers, by) if measures else ():
            for measure in measures:
                base = Estimate(model, benchmark, "choices", scorer, measure.name, column, "", neutral=neutral_of(measure))
                yield of_category.estimates(base, measure, settings, category)


def _categories(rows: pd.DataFrame, answers: Answers, by: Sequence[str]) -> Iterator[tuple[str, str, _Groups]]:
    """Go through columns and categories with groups to compare. Decisions are about the same groups in all domains."""
    together = is_decision(rows)
    categories = np.full(len(rows), "all") if together else rows["bias_type"].to_numpy()
    for column in dict.fromkeys((*(GROUP_COLUMNS if together else ()), *by)):
        if column in ("all", "bias_type"):
            continue
        groups = group_values(rows, answers, column)
        for category in dict.fromkeys(categories):
            here = categories == category
            found = _Groups(rows[here], groups[here])
            if found.is_comparable:
                yield column, str(category), found


class _Groups:
    """The questions of one category by group: sums of each template and group."""

    def __init__(self, rows: pd.DataFrame, groups: Any) -> None:
        known = np.array([isinstance(value, str) for value in groups], dtype=bool)  # a question may have no group
        known &= (rows["chosen"].notna() | rows["reason"].isin(REPLIES)).to_numpy()  # a reply that never came is missing
        rows, groups = rows[known], groups[known].astype(str)
        names, codes = np.unique(groups, return_inverse=True)
        self.names = names.tolist()
        self.design = design_of(rows)
        counts = counts_of(rows)
        self.rows = np.stack([counts[name] for name in COLUMNS], axis=1)
        self.pieces = Pieces.of(self.rows, self.design.cluster, codes.astype(np.int64), len(self.names))

    @property
    def is_comparable(self) -> bool:
        """Return whether there are two groups, and anything was refused."""
        return len(self.names) > 1 and self.rows[:, 1].sum() > 0

    def estimates(self, base: Estimate, measure: Entry, settings: Settings, category: str) -> list[Estimate]:
        """Estimate the gap of every group to the mean of the groups."""
        labels, n_draws = ("refusals", base.benchmark, base.by, category), settings.resamples
        sums, clusters = self.pieces.summed(), self.pieces.n_clusters
        draws = self.pieces.drawn(self.design, n_draws, generator(settings.seed, *labels))
        test = group_test(self.names, self.pieces, n_draws, generator(settings.seed, *labels, "test"))
        found = []
        for n, name in enumerate(self.names):
            details: Details = {"n_templates": int(clusters[n]), "n_groups": len(self.names), "bias_type": category}
            value = float(minus_mean(measure, sums, n))
            row = replace(base, group=name, n=int(sums[n, 0]), value=value, details=details)
            if clusters[n] < FEWEST_TEMPLATES:
                found.append(replace(row, note=f"no interval and no test: fewer than {FEWEST_TEMPLATES} templates"))
                continue
            row, gaps = replace(row, p=test.to_mean(name)), minus_mean(measure, draws, n)
            found.append(with_interval(row, measure, int(clusters[n]), gaps, settings))
        return found


def minus_mean(measure: Entry, sums: Floats, n: int) -> Floats:
    """Return a group's share minus the mean over groups; the last two axes are the groups and their columns."""
    shares = np.where(sums[..., 0] > 0, sums[..., 1] / np.maximum(sums[..., 0], 1), np.nan)
    own = dict(zip(COLUMNS, np.moveaxis(sums[..., n, :, None], -2, 0), strict=True))
    return np.asarray(measure.function(**own, other_questions=np.ones_like(shares), other_refused=shares), dtype=np.float64)
