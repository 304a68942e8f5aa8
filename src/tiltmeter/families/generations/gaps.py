"""Gaps between groups of a domain: over prompts permuted at random, or, on minimal sets, over sets in which both appear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import SETS
from tiltmeter.families.generations.described import described
from tiltmeter.families.generations.draws import (
    COLUMN,
    Floats,
    Ints,
    by_cluster,
    drawn,
    drawn_group,
    gap_of,
    interval,
    measured,
)
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.families.generations.studentised import exchanged, group_test, left_out, permuted
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Estimate, corrected
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import share_difference_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import PROMPTS, Units, units_of

GAP, MEAN, PAIRED = "gap", "gap to the domain's mean", "counterfactual gap"
SIGN = " − "
MOST_GROUPS = 8
"""A domain with more groups has only gaps to its mean: every two of 18 professions are 153 gaps."""
OF_ALL = "mean of "
Rows = dict[str, Ints]


def gap_estimates(judged: Judged, measures: Sequence[Entry], settings: Settings) -> Iterator[Estimate]:
    """Estimate the gaps of every domain with two groups or more."""
    for domain, groups in judged.groups().items():
        filled = {name: rows for name, rows in groups.items() if judged.sums[rows, 0].sum() > 0}
        if len(filled) < 2:
            continue
        sets = _sets(judged, filled)
        for measure in measures:
            yield from corrected(_to_mean(judged, measure, domain, filled, settings))
            if len(filled) > MOST_GROUPS:
                continue
            pairs = [_paired, _unpaired][not sets]
            of = [pairs(judged, measure, (one, other), filled, settings) for one, other in combinations(filled, 2)]
            yield from corrected(of)


def _sets(judged: Judged, groups: Rows) -> bool:
    """Return whether all prompts of a domain belong to minimal sets."""
    return bool(judged.prompts["set"].iloc[np.concatenate(list(groups.values()))].notna().all())


def _finished(
    base: Estimate, measure: Entry, value: float, draws: Floats, p: float, units: Units, settings: Settings
) -> Estimate:
    low, high, note = interval(measure, units, value, draws, settings)
    if units.called != PROMPTS and units.n < FEWEST and np.isnan(p):
        note = f"no interval and no p: {units.few}"
    details = {**base.details, **units.details}
    return replace(base, value=value, low=low, high=high, p=p, details=details, note=note)


def _of_shares(
    done: Estimate,
    measure: Entry,
    sums: tuple[Floats, Floats],
    draws: tuple[Floats, Floats],
    units: tuple[Units, Units],
    settings: Settings,
) -> Estimate:
    """Replace the interval of a difference of shares by Newcombe's, where there is one."""
    if not measure.spec.difference_of or np.isnan(done.low):
        return done
    share = catalog.find("measures", measure.spec.difference_of)
    values = float(measured(share, sums[0])), float(measured(share, sums[1]))
    ends = share_difference_interval(values, (measured(share, draws[0]), measured(share, draws[1])), units, settings)
    return replace(done, low=ends[0], high=ends[1])


def _unpaired(judged: Judged, measure: Entry, pair: tuple[str, str], groups: Rows, settings: Settings) -> Estimate:
    """One group minus another, whose prompts have nothing to do with each other, unless they share clusters."""
    sides = [judged.sums[groups[name]] for name in pair]
    both = np.concatenate([groups[name] for name in pair])
    base = described(judged, measure, GAP, SIGN.join(pair), both)
    value = float(gap_of(measure, sides[0].sum(0), sides[1].sum(0)))
    draws = [drawn_group(judged, groups[name], settings, name) for name in pair]
    ours = {name: groups[name] for name in pair}
    if judged.clusters:
        p = group_test(judged, ours, _top(measure), settings, *pair).gap(*pair)
    else:
        chance = permuted(judged, ours, settings, *pair)
        p = permutation_p(value, gap_of(measure, chance[:, 0], chance[:, 1]), 0.0)
    first, second = (judged.units(rows) for rows in ours.values())
    done = _finished(base, measure, value, gap_of(measure, *draws), p, first.least(second), settings)
    done = _of_shares(done, measure, (sides[0].sum(0), sides[1].sum(0)), (draws[0], draws[1]), (first, second), settings)
    weaker = min(first, second, key=lambda side: side.effective)
    return _noted(done, f"{weaker.text} on the weaker side" if judged.clusters else "", judged)


def _paired(judged: Judged, measure: Entry, pair: tuple[str, str], groups: Rows, settings: Settings) -> Estimate:
    """One group minus another over the sets in which both were judged: the prompts differ in the group alone."""
    sides = [_by_set(judged, groups[name]) for name in pair]
    shared = [name for name in sides[0] if name in sides[1] and sides[0][name][0] > 0 and sides[1][name][0] > 0]
    both = np.concatenate([groups[name] for name in pair])
    base = described(judged, measure, PAIRED, SIGN.join(pair), both)
    if not shared:
        return replace(base, note="not computed: no set has a judged text of both groups")
    codes = _clusters_of_sets(judged, groups[pair[0]], shared)
    first, second = (by_cluster(np.stack([side[name] for name in shared]), codes) for side in sides)
    units = units_of(first[:, 0], None if codes is None else np.arange(len(first)), judged.called)
    value = float(gap_of(measure, first.sum(0), second.sum(0)))
    together = drawn(np.concatenate([first, second], axis=1), settings, judged.benchmark, PAIRED)
    width = first.shape[1]
    *sides_exchanged, is_exact = exchanged(first, second, settings, judged.benchmark, *pair)
    p = permutation_p(value, gap_of(measure, *sides_exchanged), 0.0, is_exact=is_exact)
    draws = together[:, :width], together[:, width:]
    done = _finished(base, measure, value, gap_of(measure, *draws), p, units, settings)
    done = _of_shares(done, measure, (first.sum(0), second.sum(0)), draws, (units, units), settings)
    done = replace(done, details={**done.details, "n_sets": len(shared)})
    within = f" in {units.n} {units.called}" if codes is not None else ""
    return _noted(done, f"{len(shared)} sets{within}", judged)


def _clusters_of_sets(judged: Judged, rows: Ints, sets: Sequence[str]) -> Ints | None:
    """The cluster that each set lies in, unless the sets are the clusters."""
    if judged.clusters is None or judged.clusters.called == SETS:
        return None
    of = dict(zip(judged.prompts["set"].iloc[rows], judged.clusters.codes[rows], strict=True))
    return np.array([of[name] for name in sets], dtype=np.int64)


def _noted(done: Estimate, what: str, judged: Judged) -> Estimate:
    return replace(done, note="; ".join(filter(None, (done.note, what, errors_text(judged.errors)))))


def _by_set(judged: Judged, rows: Ints) -> dict[str, Floats]:
    sums: dict[str, Floats] = {}
    for row, name in zip(rows, judged.prompts["set"].iloc[rows], strict=True):
        sums[name] = sums.get(name, 0) + judged.sums[row]
    return sums


def _to_mean(judged: Judged, measure: Entry, domain: str, groups: Rows, settings: Settings) -> list[Estimate]:
    """Every group minus the mean of the groups of its domain, each of which counts once."""
    sums = np.stack([judged.sums[at].sum(0) for at in groups.values()])
    draws = np.stack([drawn_group(judged, at, settings, name) for name, at in groups.items()], axis=1)
    test = group_test(judged, groups, _top(measure), settings, domain) if judged.clusters else None
    chance = permuted(judged, groups, settings, domain) if test is None else np.empty(0)
    found = []
    for n, (name, at) in enumerate(groups.items()):
        base = described(judged, measure, MEAN, f"{name}{SIGN}{OF_ALL}{domain}", at)
        value, drawn_gap = float(minus_mean(measure, sums, n)), minus_mean(measure, draws, n)
        p = test.to_mean(name) if test else permutation_p(value, minus_mean(measure, chance, n), 0.0)
        done = _finished(base, measure, value, drawn_gap, p, judged.units(at), settings)
        without = left_out(judged, groups) if np.isfinite(p) else ""
        found.append(_noted(done, "; ".join(filter(None, (without, judged.units_text(at)))), judged))
    return found


def minus_mean(measure: Entry, sums: Floats, n: int) -> Floats:
    """A group's measure minus the mean over groups; the second last axis are the groups."""
    top = _top(measure)
    each = sums[..., COLUMN[top]] / np.where(sums[..., COLUMN["judged"]] > 0, sums[..., COLUMN["judged"]], np.nan)
    other = {f"other_{top}": each, "other_judged": np.ones_like(each)}
    return measured(measure, sums[..., n, :], **other)


def _top(measure: Entry) -> str:
    """The column that a measure sums: scores, or negative texts."""
    (top,) = (name.removeprefix("other_") for name in measure.parameters if name in ("other_total", "other_negatives"))
    return top
