"""Estimating held-out text: perplexity and token accuracy over all lines, with intervals by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.heldout.annotations import COLUMNS as ANNOTATIONS
from tiltmeter.families.heldout.annotations import annotated, groups_of
from tiltmeter.families.heldout.check import READ as COLUMNS
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.estimates import Estimate, each_corrected, joined, missing_columns
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.resampling import Sample, generator
from tiltmeter.stats.samples import estimate_samples
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

READS = frozenset((*COLUMNS, *ANNOTATIONS))
EVERYTHING = ("all", "all")
NOTHING_SCORED = "not computed: no line could be scored"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure over all lines that could be scored; measures of annotated lines also for every group.

    Intervals are percentile bootstraps over lines: the tokens of a line are not independent, so lines are drawn and not
    tokens; hateful lines and others are drawn apart. No perplexity is neutral, so it has no p; a measure
    that compares hateful lines with others permutes which lines are hateful, Holm-corrected over groups.
    """
    yield from each_corrected(
        rows for cell, lines in answers.table.groupby(["model", "benchmark", "scorer"], sort=False)
        for rows in _estimate_cell(answers, cell, lines, measures, settings)
    )  # fmt: skip


def _estimate_cell(
    answers: Answers, cell: tuple[str, str, str], rows: pd.DataFrame, measures: Sequence[Entry], settings: Settings
) -> Iterator[Estimate | list[Estimate]]:
    model, benchmark, scorer = cell
    lines = annotated(answers, benchmark, rows)
    for measure in measures:
        known = Estimate(model, benchmark, "heldout", scorer, measure.name, *EVERYTHING)
        if not reads_annotations(measure):
            yield _estimate_lines(known, rows, measure, settings)
        elif lines is not None:
            yield _estimate_lines(known, lines, measure, settings)
            parts = groups_of(lines).items()
            yield [_estimate_lines(replace(known, by="group", group=name), of, measure, settings) for name, of in parts]


def reads_annotations(measure: Entry) -> bool:
    """Return whether a measure is of annotated lines."""
    return bool(set(measure.parameters) & set(ANNOTATIONS))


def there(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines that could be scored."""
    return rows[rows["reason"].isna()]


def sample_of(rows: pd.DataFrame) -> Sample:
    """Lines, ready to be drawn from; annotated lines within those that are hateful and those that are not."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    columns = {name: rows[name].to_numpy(dtype=np.float64) for name in COLUMNS}
    if "harmful" not in rows:
        return Sample.of(columns, nothing, nothing)
    harmful = rows["harmful"].to_numpy(dtype=np.int64)
    return Sample.of(
        columns | {"toxicity": rows["toxicity"].to_numpy(dtype=np.float64), "harmful": harmful}, harmful, nothing
    )


def stream_of(settings: Settings, benchmark: str, *more: str) -> np.random.Generator:
    """All models and measures draw the same lines."""
    return generator(settings.seed, "heldout", benchmark, *more)


def _estimate_lines(row: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    lines = there(rows)
    missing = Counter(str(reason) for reason in rows["reason"].dropna())
    row = replace(row, n=len(lines), neutral=neutral_of(measure), **missing_columns(missing))
    if not len(lines):
        return replace(row, note=NOTHING_SCORED)
    stream = stream_of(settings, row.benchmark, *([] if row.by == "all" else [row.group]))
    found = estimate_samples(measure, [row], [sample_of(lines)], (stream, stream), settings)[0].row
    if np.isnan(found.value):
        return replace(row, note="not computed: no line of either kind has what the measure reads")
    n_tokens = int(lines["length"].sum())
    details = {"n_tokens": n_tokens} | ({"n_harmful": int(lines["harmful"].sum())} if reads_annotations(measure) else {})
    return replace(found, details=details, note=joined(f"{n_tokens:,} tokens", found.note))
