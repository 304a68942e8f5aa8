"""One measure over one group of items: its value, interval and p, and what is missing or tied."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.paired import Floats, Paired
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
from tiltmeter.significance import binomial_p, exact_proportion_interval, fisher_p, permutation_p

MINIMUM_RESAMPLES = 100
ROUNDING = 1e-12


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


def direction_gap(advantaged: Paired, disadvantaged: Paired, measure: Entry, settings: Settings) -> Estimate:
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


def domains(paired: Paired, settings: Settings) -> Iterator[Estimate]:
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
