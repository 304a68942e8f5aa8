"""`estimate`: sentence scores to measures, each with an interval, counts of what is missing or tied, and a p-value."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.group_estimating import Estimate, Settings, direction_gap, domains, estimate_group
from tiltmeter.paired import Paired, pair_up
from tiltmeter.significance import holm
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

ESTIMATE_COLUMNS = (
    "model", "benchmark", "scorer", "measure", "by", "group", "n", "n_missing", "n_ties", "value", "low", "high",
    "neutral", "p", "p_holm", "missing", "note",
)  # fmt: skip
DEFAULT_BY = ("bias_type", "direction")
MOST_THREADS = min(4, os.cpu_count() or 1)
"""Each holds draws, at 10,000 resamples some 150 megabytes."""


def estimate(
    scores: Scores,
    measures: Sequence[str] | None = None,
    by: str | Sequence[str] = DEFAULT_BY,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Every measure for every model, benchmark and scorer: overall and per group of the columns in `by`.

    Intervals are percentile bootstraps over items, paired, stratified by bias type (measures over targets: by target).
    p: exact binomial for bias_score, else exchanging the two sentences of random pairs; Holm-corrected over groups.
    """
    import pandas as pd

    settings = Settings(resamples, confidence, seed)
    settings.check()
    columns = [by] if isinstance(by, str) else list(by)
    extra = [column for column in columns if column not in ("bias_type", "direction", "target", "all")]
    pairs = list(pair_up(scores, extra))
    check_measures(pairs, measures)
    stop = Event()
    with ThreadPoolExecutor(MOST_THREADS) as threads:  # most of it is numpy, which lets others run meanwhile
        try:
            found = list(threads.map(lambda paired: list(_rows(paired, measures, columns, settings, stop)), pairs))
        except BaseException:  # Ctrl-C: leaving the pool waits for those that have begun
            stop.set()
            raise
    return pd.DataFrame([row for rows in found for row in rows], columns=list(ESTIMATE_COLUMNS))


def _rows(
    paired: Paired, names: Sequence[str] | None, columns: Sequence[str], settings: Settings, stop: Event
) -> Iterator[dict[str, Any]]:
    """Those of one model, benchmark and scorer. Every number has a random stream of its own: any order gives the same."""
    parts = {column: _parts(paired, column) for column in columns}
    for measure in choose_measures(paired, names):
        for one in _all_groups(paired, measure, parts, settings, stop):
            yield _row(paired, measure, one)
        if "group" in columns and measure.name == "bias_score":
            variance = catalog.find("measures", "group_variance")
            yield from (_row(paired, variance, one) for one in domains(paired, settings))


def choose_measures(paired: Paired, names: Sequence[str] | str | None) -> list[Entry]:
    """Of the measures asked for, or of all, those that this table has the columns for."""
    names = [names] if isinstance(names, str) else names
    chosen = catalog.entries("measures") if names is None else [catalog.find("measures", name) for name in names]
    return [measure for measure in chosen if paired.supports(measure)]


def check_measures(pairs: Sequence[Paired], names: Sequence[str] | str | None) -> None:
    """Refuses a measure that was asked for by name and that none of the tables has the columns for."""
    for name in [names] if isinstance(names, str) else names or ():
        measure = catalog.find("measures", name)
        if not any(paired.supports(measure) for paired in pairs):
            benchmarks = ", ".join(dict.fromkeys(paired.benchmark for paired in pairs))
            raise TiltmeterError(
                f"{name} reads {', '.join(measure.parameters)}, and {benchmarks} has no such scores or labels."
            )


def _parts(paired: Paired, column: str) -> dict[str, Paired]:
    """The groups of a column."""
    if column == "all":
        return {}
    names = sorted(paired.groups[column].dropna().unique())
    return {name: paired.take((paired.groups[column] == name).to_numpy()) for name in names}


def _all_groups(
    paired: Paired, measure: Entry, groups: dict[str, dict[str, Paired]], settings: Settings, stop: Event
) -> Iterator[Estimate]:
    if stop.is_set():
        return
    yield estimate_group(paired, measure, "all", "all", settings)
    for column, parts in groups.items():
        found = []
        for name, part in parts.items():
            if stop.is_set():
                return
            found.append(estimate_group(part, measure, column, name, settings))
        corrected = holm([one.p for one in found])
        yield from (replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True))
        if measure.name == "bias_score" and column == "direction" and {"advantaged", "disadvantaged"} <= set(parts):
            yield direction_gap(parts["advantaged"], parts["disadvantaged"], measure, settings)


def _row(paired: Paired, measure: Entry, one: Estimate) -> dict[str, Any]:
    neutral = 0.0 if one.group == "|difference|" else measure.constant("NEUTRAL")
    return {
        "model": paired.model,
        "benchmark": paired.benchmark,
        "scorer": paired.scorer,
        "measure": measure.name,
        "neutral": np.nan if neutral is None else neutral,
        **vars(one),
    }
