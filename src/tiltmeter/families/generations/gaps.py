"""Gaps between groups of a domain: over prompts permuted at random, or, on minimal sets, over sets in which both appear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.generations.clusters import SETS
from tiltmeter.families.generations.described import described
from tiltmeter.families.generations.draws import COLUMN, by_cluster, drawn, drawn_group, gap_of, measured
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.families.generations.studentised import group_test, left_out, permuted
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.design import Design, Floats, Ints, generator
from tiltmeter.stats.estimates import Estimate, joined
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import DrawnShare, share_difference_interval, with_interval
from tiltmeter.stats.resampling import exchange_sums
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import PROMPTS, Units, units_of

GAP, MEAN, PAIRED = "gap", "gap to the domain's mean", "counterfactual gap"
SIGN = " − "
MOST_GROUPS = 8
"""A domain with more groups has only gaps to its mean: every two of 18 professions are 153 gaps."""
OF_ALL = "mean of "
Rows = dict[str, Ints]


@dataclass(frozen=True)
class Side:
    """One side of a gap: its sums as they are and as drawn, and the units that were drawn."""

    sums: Floats
    draws: Floats
    units: Units


def gap_estimates(judged: Judged, measures: Sequence[Entry], settings: Settings) -> Iterator[list[Estimate]]:
    """Estimate the gaps of every domain with two groups or more; those of a list are tested together."""
    for domain, groups in judged.groups().items():
        filled = {name: rows for name, rows in groups.items() if judged.sums[rows, 0].sum() > 0}
        if len(filled) < 2:
            continue
        estimate = _paired if _sets(judged, filled) else _unpaired
        for measure in measures:
            yield _to_mean(judged, measure, domain, filled, settings)
            if len(filled) <= MOST_GROUPS:
                yield [estimate(judged, measure, pair, filled, settings) for pair in combinations(filled, 2)]


def _sets(judged: Judged, groups: Rows) -> bool:
    """Return whether all prompts of a domain belong to minimal sets."""
    return bool(judged.prompts["set"].iloc[np.concatenate(list(groups.values()))].notna().all())


def _finished(row: Estimate, measure: Entry, draws: Floats, units: Units, settings: Settings, *remarks: str) -> Estimate:
    """Fill in the interval of a gap that has its value and p."""
    row = replace(row, details={**row.details, **units.details})
    if units.called != PROMPTS and units.n < FEWEST and np.isnan(row.p):
        found = with_interval(row, measure, units, draws, settings)
        return replace(found, note=joined(f"no interval and no p: {units.few}", *remarks))
    return with_interval(row, measure, units, draws, settings, *remarks)


def _gap(
    row: Estimate, measure: Entry, sides: tuple[Side, Side], units: Units, settings: Settings, *remarks: str
) -> Estimate:
    """Fill in the interval of one group minus another."""
    one, other = sides
    row = _finished(row, measure, gap_of(measure, one.draws, other.draws), units, settings, *remarks)
    return _of_shares(row, _shares(measure, sides), settings)


def _shares(measure: Entry, sides: Sequence[Side]) -> list[DrawnShare]:
    """The shares of groups whose difference a measure is; none if it is another one."""
    if not measure.spec.difference_of:
        return []
    share = catalog.find("measures", measure.spec.difference_of)
    return [DrawnShare(float(measured(share, side.sums)), measured(share, side.draws), side.units) for side in sides]


def _of_shares(row: Estimate, shares: Sequence[DrawnShare], settings: Settings, part: float = 1.0) -> Estimate:
    """Replace an interval by Newcombe's, where a gap is (a part of) the difference of two shares."""
    if not shares or np.isnan(row.low):
        return row
    low, high = share_difference_interval(shares[0], shares[1], settings)
    return replace(row, low=part * low, high=part * high)


def _unpaired(judged: Judged, measure: Entry, pair: tuple[str, str], groups: Rows, settings: Settings) -> Estimate:
    """One group minus another, whose prompts have nothing to do with each other, unless they share clusters."""
    ours = {name: groups[name] for name in pair}
    first, second = (
        Side(judged.sums[rows].sum(0), drawn_group(judged, rows, settings, name), judged.units(rows))
        for name, rows in ours.items()
    )
    row = described(judged, measure, GAP, SIGN.join(pair), np.concatenate(list(ours.values())))
    row = replace(row, value=float(gap_of(measure, first.sums, second.sums)))
    if judged.clusters:
        row = replace(row, p=group_test(judged, ours, _top(measure), settings, *pair).gap(*pair))
    else:
        chance = permuted(judged, ours, settings, *pair)
        row = replace(row, p=permutation_p(row.value, gap_of(measure, chance[:, 0], chance[:, 1]), 0.0))
    weaker = min(first.units, second.units, key=lambda side: side.effective)
    remark = f"{weaker.text} on the weaker side" if judged.clusters else ""
    units = first.units.least(second.units)
    return _gap(row, measure, (first, second), units, settings, remark, errors_text(judged.errors))


def _paired(judged: Judged, measure: Entry, pair: tuple[str, str], groups: Rows, settings: Settings) -> Estimate:
    """One group minus another over the sets in which both were judged: the prompts differ in the group alone."""
    sides = [_by_set(judged, groups[name]) for name in pair]
    shared = [name for name in sides[0] if name in sides[1] and sides[0][name][0] > 0 and sides[1][name][0] > 0]
    row = described(judged, measure, PAIRED, SIGN.join(pair), np.concatenate([groups[name] for name in pair]))
    if not shared:
        return replace(row, note="not computed: no set has a judged text of both groups")
    codes = _clusters_of_sets(judged, groups[pair[0]], shared)
    first, second = (by_cluster(np.stack([side[name] for name in shared]), codes) for side in sides)
    units = units_of(first[:, 0], None if codes is None else np.arange(len(first)), judged.called)
    draws = np.split(drawn(np.concatenate([first, second], axis=1), settings, judged.benchmark, PAIRED), 2, axis=1)
    rng = generator(settings.seed, "exchanging", judged.benchmark, *pair)
    design, every = Design.independent(len(first)), np.arange(len(first))
    *exchanged, is_exact = exchange_sums(design, (first, second), [every], settings.resamples, rng)
    value = float(gap_of(measure, first.sum(0), second.sum(0)))
    row = replace(row, value=value, p=permutation_p(value, gap_of(measure, *exchanged)[:, 0], 0.0, is_exact=is_exact))
    both = Side(first.sum(0), draws[0], units), Side(second.sum(0), draws[1], units)
    within = f" in {units.n} {units.called}" if codes is not None else ""
    found = _gap(row, measure, both, units, settings, f"{len(shared)} sets{within}", errors_text(judged.errors))
    return replace(found, details={**found.details, "n_sets": len(shared)})


def _clusters_of_sets(judged: Judged, rows: Ints, sets: Sequence[str]) -> Ints | None:
    """The cluster that each set lies in, unless the sets are the clusters."""
    if judged.clusters is None or judged.clusters.called == SETS:
        return None
    of = dict(zip(judged.prompts["set"].iloc[rows], judged.clusters.codes[rows], strict=True))
    return np.array([of[name] for name in sets], dtype=np.int64)


def _by_set(judged: Judged, rows: Ints) -> dict[str, Floats]:
    sums: dict[str, Floats] = {}
    for row, name in zip(rows, judged.prompts["set"].iloc[rows], strict=True):
        sums[name] = sums.get(name, 0) + judged.sums[row]
    return sums


def _to_mean(judged: Judged, measure: Entry, domain: str, groups: Rows, settings: Settings) -> list[Estimate]:
    """Every group minus the mean of the groups of its domain, each of which counts once."""
    sides = [
        Side(judged.sums[at].sum(0), drawn_group(judged, at, settings, name), judged.units(at))
        for name, at in groups.items()
    ]
    sums, draws = np.stack([side.sums for side in sides]), np.stack([side.draws for side in sides], axis=1)
    shares = _shares(measure, sides)
    test = group_test(judged, groups, _top(measure), settings, domain) if judged.clusters else None
    chance = permuted(judged, groups, settings, domain) if test is None else np.empty(0)
    found = []
    for n, (name, at) in enumerate(groups.items()):
        row = described(judged, measure, MEAN, f"{name}{SIGN}{OF_ALL}{domain}", at)
        row = replace(row, value=float(minus_mean(measure, sums, n)))
        p = test.to_mean(name) if test else permutation_p(row.value, minus_mean(measure, chance, n), 0.0)
        remarks = left_out(judged, groups) if np.isfinite(p) else "", judged.units_text(at), errors_text(judged.errors)
        gaps = minus_mean(measure, draws, n)
        row = _finished(replace(row, p=p), measure, gaps, judged.units(at), settings, *remarks)
        if shares:  # minus the mean of all groups: a part of the difference from the mean of the others
            others = judged.units(np.concatenate([rows for other, rows in groups.items() if other != name]))
            rest = _mean_share([share for k, share in enumerate(shares) if k != n], others)
            row = _of_shares(row, (shares[n], rest), settings, 1 - 1 / len(shares))
            if np.isnan(row.low) and others.too_few:
                row = replace(row, note=joined(row.note, f"no interval: {others.too_few} in the other groups"))
        found.append(row)
    return found


def _mean_share(shares: Sequence[DrawnShare], units: Units) -> DrawnShare:
    """The mean of some groups' shares, each of which counts once."""
    draws = np.mean([share.draws for share in shares], axis=0)
    return DrawnShare(float(np.mean([share.value for share in shares])), draws, units)


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
