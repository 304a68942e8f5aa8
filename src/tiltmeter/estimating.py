"""`estimate`: sentence scores to measures, each with an interval, counts of what is missing or tied, and a p-value."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.paired import Floats, Paired, pair_up
from tiltmeter.resampling import (
    Sample,
    bootstrap,
    bounded_interval,
    generator,
    percentile_interval,
    spread_over_groups,
    statistic,
    stratum_of,
    swapped,
)
from tiltmeter.significance import binomial_p, exact_proportion_interval, fisher_p, holm, permutation_p
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

ESTIMATE_COLUMNS = (
    "model", "benchmark", "scorer", "measure", "by", "group", "n", "n_missing", "n_ties", "value", "low", "high",
    "neutral", "p", "p_holm", "missing", "note",
)  # fmt: skip
DEFAULT_BY = ("bias_type", "direction")
MINIMUM_RESAMPLES = 100
ROUNDING = 1e-12
MOST_THREADS = min(4, os.cpu_count() or 1)
"""Each holds draws, at 10,000 resamples some 150 megabytes."""


@dataclass(frozen=True)
class Settings:
    """How to resample."""

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def check(self) -> None:
        """Refuses what would give an interval in name only."""
        if self.resamples < MINIMUM_RESAMPLES:
            raise TiltmeterError(f"{self.resamples} resamples are too few for an interval; use 1,000 or more.")
        if self.seed < 0:
            raise TiltmeterError(f"The seed is a number from 0 on, not {self.seed}.")
        if not 0.5 <= self.confidence < 1:
            raise TiltmeterError(f"The confidence is a number like 0.95, not {self.confidence}.")


@dataclass(frozen=True)
class Estimate:
    """One number with everything needed to read it."""

    by: str
    group: str
    n: int
    n_missing: int = 0
    n_ties: int = 0
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    missing: str = ""
    note: str = ""


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
            yield from (_row(paired, variance, one) for one in _domains(paired, settings))


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
            yield _direction_gap(parts["advantaged"], parts["disadvantaged"], measure, settings)


def estimate_group(paired: Paired, measure: Entry, by: str, group: str, settings: Settings) -> Estimate:
    """One measure over one group of items."""
    complete, reasons = paired.complete_for(measure)
    known = Estimate(
        by=by,
        group=group,
        n=len(complete),
        n_missing=len(paired) - len(complete),
        n_ties=int((complete.scores["stereo"] == complete.scores["anti"]).sum()),
        missing=json.dumps(dict(reasons)) if reasons else "",
    )
    if not len(complete):
        return replace(known, note="no complete items")
    sample = Sample.of(complete, stratum_of(measure))
    value = float(statistic(measure, sample.columns(), sample.bias_type))
    if np.isnan(value):
        return replace(known, note="undefined: fewer than two pairs, or scores without spread")
    label = (paired.benchmark, by, group, measure.name)
    draws = bootstrap(measure, sample, generator(settings.seed, "bootstrap", *label), settings.resamples)
    low, high, note = interval_of(measure, sample, value, draws, settings)
    p = _p_value(measure, sample, value, generator(settings.seed, "swap", *label), settings)
    equal = measure.constant("BOUNDED", False) and value == measure.constant("NEUTRAL")
    notes = ["both score distributions are the same" if equal else "", note, _left_out(measure, sample)]
    return replace(known, value=value, low=low, high=high, p=p, note="; ".join(filter(None, notes)))


def interval_of(measure: Entry, sample: Sample, value: float, draws: Floats, settings: Settings) -> tuple[float, float, str]:
    """The interval that a measure's draws give, and a note where it is none or of another kind."""
    defined = draws[~np.isnan(draws)]
    if len(defined) < MINIMUM_RESAMPLES:
        return np.nan, np.nan, "too few defined resamples for an interval"
    note = f"{len(draws) - len(defined)} of {len(draws)} resamples undefined" if len(defined) < len(draws) else ""
    if np.ptp(defined) <= ROUNDING * np.abs(defined).max():  # an interval without width would claim certainty
        if measure.name != "bias_score":
            return np.nan, np.nan, "no interval, since no resample differs"
        low, high = exact_proportion_interval(_wins(sample.paired)[0], len(sample.paired), settings.confidence)
        return low, high, "exact interval, since no resample within bias types differs"
    if measure.constant("BOUNDED", False):
        return *bounded_interval(value, defined, settings.confidence, measure.constant("RANGE")), note
    return *percentile_interval(defined, settings.confidence), note


def _p_value(measure: Entry, sample: Sample, value: float, rng: np.random.Generator, settings: Settings) -> float:
    neutral = measure.constant("NEUTRAL")
    if neutral is None:
        return float("nan")
    if measure.name == "bias_score":
        return binomial_p(*_wins(sample.paired))
    exchanged = swapped(measure, sample, rng, settings.resamples)
    # A bounded measure is never on neutral by chance, so all that is as far away counts. For the others exchanging is
    # centred on what ties leave of neutral: a tie stays one.
    centre = neutral if measure.constant("BOUNDED", False) else float(np.mean(exchanged))
    return permutation_p(value, exchanged, centre)


def _wins(paired: Paired) -> tuple[int, int]:
    stereo, anti = paired.scores["stereo"], paired.scores["anti"]
    return int((stereo > anti).sum()), int((stereo < anti).sum())


def _left_out(measure: Entry, sample: Sample) -> str:
    """Which bias types a weighted measure had to leave out."""
    if not measure.constant("WEIGHTED", False):
        return ""
    types = sample.paired.groups["bias_type"].to_numpy()
    names = []
    for code in np.unique(sample.bias_type):
        at = sample.bias_type == code
        part = {name: column[at] for name, column in sample.columns().items()}
        if np.isnan(statistic(measure, part, sample.bias_type[at])):
            names.append(str(types[at][0]))
    return f"left out as undefined: {', '.join(names)}" if names else ""


def _direction_gap(advantaged: Paired, disadvantaged: Paired, measure: Entry, settings: Settings) -> Estimate:
    """|bias score of advantaged − of disadvantaged groups|: a fair measure leans alike on both (paper 1, Table 3)."""
    samples, draws, missing, ties = [], [], Counter[str](), 0
    for name, part in (("advantaged", advantaged), ("disadvantaged", disadvantaged)):
        complete, reasons = part.complete_for(measure)
        if not len(complete):
            return Estimate("direction", "|difference|", 0, note=f"no complete items of {name} groups")
        samples.append(Sample.of(complete, "bias_type"))
        rng = generator(settings.seed, "bootstrap", part.benchmark, "direction", name, measure.name)
        draws.append(bootstrap(measure, samples[-1], rng, settings.resamples))
        missing += reasons
        ties += int((complete.scores["stereo"] == complete.scores["anti"]).sum())
    values = [float(statistic(measure, sample.columns(), sample.bias_type)) for sample in samples]
    gap, gaps = abs(values[0] - values[1]), np.abs(draws[0] - draws[1])
    low, high = bounded_interval(gap, gaps, settings.confidence, (0.0, 100.0)) if np.ptp(gaps) else (np.nan, np.nan)
    return Estimate(
        by="direction",
        group="|difference|",
        n=sum(len(sample.paired) for sample in samples),
        n_missing=sum(missing.values()),
        n_ties=ties,
        value=gap,
        low=low,
        high=high,
        p=fisher_p(*_wins(samples[0].paired), *_wins(samples[1].paired)),
        missing=json.dumps(dict(missing)) if missing else "",
        note="neutral at 0; p by Fisher's exact test",
    )


def _domains(paired: Paired, settings: Settings) -> Iterator[Estimate]:
    """Variance of the bias score over the protected groups of each bias type, as Cao et al. (2022) score a domain."""
    complete, _ = paired.complete_for(catalog.find("measures", "bias_score"))
    wins = 100.0 * (complete.scores["stereo"] > complete.scores["anti"])
    for name in sorted(complete.groups["bias_type"].unique()):
        at = ((complete.groups["bias_type"] == name) & complete.groups["group"].notna()).to_numpy()
        rng = generator(settings.seed, "domain", paired.benchmark, name)
        found = spread_over_groups(wins[at], complete.groups["group"][at].to_numpy(), rng, settings.resamples)
        if found is None:
            yield Estimate("bias_type", name, int(at.sum()), note="fewer than two groups, or one of a single item")
            continue
        low, high = bounded_interval(found.value, found.draws, settings.confidence, (0.0, np.inf))
        p = permutation_p(found.value, found.dealt, 0.0)
        note = f"sample variance over {found.n_groups} groups; p from dealing the items to groups at random"
        yield Estimate("bias_type", name, int(at.sum()), value=found.value, low=low, high=high, p=p, note=note)


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
