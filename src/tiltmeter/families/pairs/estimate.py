"""Judging pairs: sentence scores to measures, each with an interval, counts of what is missing or tied, and a p-value."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.domains import spread_over_groups
from tiltmeter.families.pairs.paired import SIDES, Paired, pair_up
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.measured import interval_of, neutral_of, p_value, stratum_of, wins_and_losses
from tiltmeter.stats.resampling import Sample, bootstrap, bounded_interval, generator, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import fisher_p, permutation_p

MOST_THREADS = min(4, os.cpu_count() or 1)
"""Each holds draws, at 10,000 resamples some 150 megabytes."""
DIFFERENCE = "|difference|"
Parts = Mapping[str, Mapping[str, Paired]]


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model, benchmark and scorer: overall and per group of the columns in `by`.

    Intervals are percentile bootstraps over items, paired, stratified by bias type (measures over targets: by target).
    p: exact binomial for bias_score, else exchanging the two sentences of random pairs; Holm-corrected over groups.
    """
    pairs = pair_up(answers, by)
    stop = Event()
    with ThreadPoolExecutor(MOST_THREADS) as threads:  # most of it is numpy, which lets others run meanwhile
        try:
            rows = list(threads.map(lambda paired: list(_rows(paired, measures, by, settings, stop)), pairs))
        except BaseException:  # Ctrl-C: leaving the pool waits for those that have begun
            stop.set()
            raise
    for of_pair in rows:
        yield from of_pair


def _rows(
    paired: Paired, measures: Sequence[Entry], by: Sequence[str], settings: Settings, stop: Event
) -> Iterator[Estimate]:
    """Those of one model, benchmark and scorer. Every number has a random stream of its own: any order gives the same."""
    parts = {column: _parts(paired, column) for column in by}
    for measure in measures:
        if paired.supports(measure):
            yield from _all_groups(paired, measure, parts, settings, stop)
            for column, within in measure.constant("SPREAD", {}).items():
                if column in by:
                    yield from _domains(paired, measure, column, within, settings)


def _parts(paired: Paired, column: str) -> dict[str, Paired]:
    """The groups of a column."""
    if column == "all":
        return {}
    names = sorted(paired.groups[column].dropna().unique())
    return {name: paired.take((paired.groups[column] == name).to_numpy()) for name in names}


def _all_groups(paired: Paired, measure: Entry, groups: Parts, settings: Settings, stop: Event) -> Iterator[Estimate]:
    if stop.is_set():
        return
    yield estimate_group(paired, measure, "all", "all", settings)
    contrasts = measure.constant("CONTRASTS", {})
    for column, parts in groups.items():
        rows = []
        for name, part in parts.items():
            if stop.is_set():
                return
            rows.append(estimate_group(part, measure, column, name, settings))
        yield from corrected(rows)
        if set(contrasts.get(column, ("",))) <= set(parts):
            one, other = contrasts[column]
            yield _contrast({one: parts[one], other: parts[other]}, measure, column, settings)


def _blank(paired: Paired, measure: Entry, by: str, group: str) -> Estimate:
    """The place of a number, before it is known."""
    place = (paired.model, paired.benchmark, "pairs", paired.scorer, measure.name, by, group)
    return Estimate(*place, neutral=neutral_of(measure))


def estimate_group(paired: Paired, measure: Entry, by: str, group: str, settings: Settings) -> Estimate:
    """One measure over one group of items."""
    complete, reasons = paired.complete_for(measure)
    known = replace(
        _blank(paired, measure, by, group),
        n=len(complete),
        n_missing=len(paired) - len(complete),
        n_ties=_ties(complete),
        missing=json.dumps(dict(reasons)) if reasons else "",
    )
    if not len(complete):
        return replace(known, note="no complete items")
    sample = complete.sample(stratum_of(measure))
    value = float(statistic(measure, sample.columns, sample.parts))
    if np.isnan(value):
        return replace(known, note="undefined: fewer than two pairs, or scores without spread")
    label = (paired.benchmark, by, group, measure.name)
    draws = bootstrap(measure, sample, generator(settings.seed, "bootstrap", *label), settings.resamples)
    low, high, note = interval_of(measure, len(sample), value, draws, settings)
    p = p_value(measure, sample, value, SIDES, generator(settings.seed, "swap", *label), settings)
    equal = measure.constant("BOUNDED", False) and value == measure.constant("NEUTRAL")
    notes = ["both score distributions are the same" if equal else "", note, _left_out(measure, sample, complete)]
    return replace(known, value=value, low=low, high=high, p=p, note="; ".join(filter(None, notes)))


def _ties(paired: Paired) -> int:
    return int((paired.scores["stereo"] == paired.scores["anti"]).sum())


def _left_out(measure: Entry, sample: Sample, complete: Paired) -> str:
    """Which bias types a weighted measure had to leave out."""
    if not measure.constant("WEIGHTED", False):
        return ""
    types = complete.groups["bias_type"].to_numpy()[sample.order]
    names = []
    for code in np.unique(sample.parts):
        at = sample.parts == code
        part = {name: column[at] for name, column in sample.columns.items()}
        if np.isnan(statistic(measure, part, sample.parts[at])):
            names.append(str(types[at][0]))
    return f"left out as undefined: {', '.join(names)}" if names else ""


def _contrast(parts: Mapping[str, Paired], measure: Entry, column: str, settings: Settings) -> Estimate:
    """|value of one group − of another|: stereotypes about advantaged and disadvantaged groups, say (paper 1, Table 3)."""
    samples, draws, missing, ties = [], [], Counter[str](), 0
    for name, part in parts.items():
        known = replace(_blank(part, measure, column, DIFFERENCE), neutral=0.0)
        complete, reasons = part.complete_for(measure)
        if not len(complete):
            return replace(known, note=f"no complete items of {name} groups")
        samples.append(complete.sample("bias_type"))
        rng = generator(settings.seed, "bootstrap", part.benchmark, column, name, measure.name)
        draws.append(bootstrap(measure, samples[-1], rng, settings.resamples))
        missing += reasons
        ties += _ties(complete)
    values = [float(statistic(measure, sample.columns, sample.parts)) for sample in samples]
    gap, gaps = abs(values[0] - values[1]), np.abs(draws[0] - draws[1])
    reach = (0.0, float(np.ptp(measure.constant("RANGE"))))
    low, high = bounded_interval(gap, gaps, settings.confidence, reach) if np.ptp(gaps) else (np.nan, np.nan)
    return replace(
        known,
        n=sum(len(sample) for sample in samples),
        n_missing=sum(missing.values()),
        n_ties=ties,
        value=gap,
        low=low,
        high=high,
        p=fisher_p(*wins_and_losses(measure, samples[0]), *wins_and_losses(measure, samples[1])),
        missing=json.dumps(dict(missing)) if missing else "",
        note="neutral at 0; p by Fisher's exact test",
    )


def _domains(paired: Paired, measure: Entry, column: str, within: str, settings: Settings) -> Iterator[Estimate]:
    """Variance of a measure over the groups of each bias type, as Cao et al. (2022) score a domain."""
    variance = catalog.find("measures", "group_variance")
    complete, _ = paired.complete_for(measure)
    columns = {name: complete.scores[name][:, None] for name in measure.parameters}
    per_item = np.asarray(measure.function(**columns), dtype=np.float64)
    for name in sorted(complete.groups[within].unique()):
        at = ((complete.groups[within] == name) & complete.groups[column].notna()).to_numpy()
        known = replace(_blank(paired, variance, within, name), n=int(at.sum()))
        rng = generator(settings.seed, "domain", paired.benchmark, name)
        spread = spread_over_groups(per_item[at], complete.groups[column][at].to_numpy(), rng, settings.resamples)
        if spread is None:
            yield replace(known, note="fewer than two groups, or one of a single item")
            continue
        low, high = bounded_interval(spread.value, spread.draws, settings.confidence, (0.0, np.inf))
        p = permutation_p(spread.value, spread.dealt, 0.0)
        note = f"sample variance over {spread.n_groups} groups; p from dealing the items to groups at random"
        yield replace(known, value=spread.value, low=low, high=high, p=p, note=note)
