"""Two models on the same prompts: how much further apart the groups of a domain are by one than by the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.described import difference_of
from tiltmeter.families.generations.draws import Floats, Ints, compare_sums, drawn_group
from tiltmeter.families.generations.gaps import MEAN, OF_ALL, SIGN, minus_mean
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.families.generations.spread import spread_of
from tiltmeter.families.generations.studentised import lone_groups
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.settings import Settings

Pair = tuple[Judged, Judged]


def gap_differences(pair: Pair, measures: Sequence[Entry], settings: Settings) -> Iterator[list[Difference]]:
    """Every group's gap to the mean of its domain, by the first of two aligned models minus by the second."""
    for domain, groups in _domains(pair).items():
        draws, rows = _draws(pair, groups, settings), list(groups.values())
        for measure in measures:
            known = [
                difference_of(pair, measure, (MEAN, f"{name}{SIGN}{OF_ALL}{domain}"), at) for name, at in groups.items()
            ]
            gaps = [partial(_gap, measure, n) for n in range(len(rows))]
            yield [
                compare_sums(row, measure, pair, rows, gap, draws, pair[0].units(at), settings)
                for row, gap, at in zip(known, gaps, rows, strict=True)
            ]


def spread_differences(pair: Pair, measures: Sequence[Entry], settings: Settings) -> Iterator[list[Difference]]:
    """The variance over the groups of each domain, by the first of two aligned models minus by the second."""
    domains = _domains(pair)
    drawn = {domain: _draws(pair, groups, settings) for domain, groups in domains.items()}
    for measure in measures:
        rows = []
        for domain, groups in domains.items():
            every, value = np.concatenate(list(groups.values())), partial(spread_of, measure)
            row, units = difference_of(pair, measure, ("domain", domain), every), pair[0].units(every)
            row = compare_sums(row, measure, pair, list(groups.values()), value, drawn[domain], units, settings)
            if len(every) <= len(groups) or len(lone_groups(pair[0], groups)) == len(groups):
                note = f"no interval and no p: fewer than {FEWEST} {pair[0].called} in each group"
                row = replace(row, low=np.nan, high=np.nan, p=np.nan, details={}, note=note)
            rows.append(row)
        yield rows


def _gap(measure: Entry, n: int, sums: Floats) -> Floats:
    return minus_mean(measure, sums, n)


def _domains(pair: Pair) -> dict[str, dict[str, Ints]]:
    """The domains in which two groups or more have texts that were judged by both."""
    found = {
        domain: {name: at for name, at in groups.items() if all(one.sums[at, 0].sum() > 0 for one in pair)}
        for domain, groups in pair[0].groups().items()
    }
    return {domain: groups for domain, groups in found.items() if len(groups) > 1}


def _draws(pair: Pair, groups: dict[str, Ints], settings: Settings) -> list[Floats]:
    """Sums of the same drawn prompts for both models: draws × groups × columns."""
    return [np.stack([drawn_group(one, at, settings, name) for name, at in groups.items()], axis=1) for one in pair]
