"""Estimating held-out text: perplexity and token accuracy over all lines, with intervals by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.measured import interval_of, neutral_of
from tiltmeter.stats.resampling import Sample, bootstrap, generator, statistic
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("log_likelihood", "hits", "length")
READS = frozenset(COLUMNS)
EVERYTHING = ("all", "all")


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure over all lines that could be asked; lines have no groups.

    Intervals are percentile bootstraps over lines: the tokens of a line are not independent, so lines are drawn and not
    tokens. There is no p, since no perplexity is neutral.
    """
    for (model, benchmark, scorer), rows in answers.table.groupby(["model", "benchmark", "scorer"], sort=False):
        for measure in measures:
            known = Estimate(str(model), str(benchmark), "heldout", str(scorer), measure.name, *EVERYTHING)
            yield _one(known, rows, measure, settings)


def there(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines that could be asked."""
    return rows[rows["reason"].isna()]


def sample_of(rows: pd.DataFrame) -> Sample:
    """Lines, ready to be drawn from."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Sample.of({name: rows[name].to_numpy(dtype=np.float64) for name in COLUMNS}, nothing, nothing)


def stream_of(settings: Settings, benchmark: str) -> np.random.Generator:
    """All models and measures draw the same lines."""
    return generator(settings.seed, "heldout", benchmark)


def _one(known: Estimate, rows: pd.DataFrame, measure: Entry, settings: Settings) -> Estimate:
    asked = there(rows)
    missing = Counter(str(reason) for reason in rows["reason"].dropna())
    known = replace(known, n=len(asked), n_missing=len(rows) - len(asked), neutral=neutral_of(measure))
    known = replace(known, missing=json.dumps(dict(missing)) if missing else "")
    if not len(asked):
        return replace(known, note="not computed: no line could be asked")
    sample = sample_of(asked)
    value = float(statistic(measure, sample.columns, sample.parts))
    draws = bootstrap(measure, sample, stream_of(settings, known.benchmark), settings.resamples)
    low, high, note = interval_of(measure, known.n, value, draws, settings)
    n_tokens = int(asked["length"].sum())
    notes = "; ".join(filter(None, [f"{n_tokens:,} tokens", note]))
    return replace(known, value=value, low=low, high=high, details={"n_tokens": n_tokens}, note=notes)
