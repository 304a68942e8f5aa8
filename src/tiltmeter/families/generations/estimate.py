"""Estimating generations: what judges say of texts about each group, and how far the groups lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.generations.described import FAMILY, described
from tiltmeter.families.generations.draws import Floats, Ints, drawn_group, drawn_together, measured
from tiltmeter.families.generations.gaps import gap_estimates
from tiltmeter.families.generations.judge_scores import AGREEMENT, Judged, agreement, judged_of
from tiltmeter.families.generations.judging import with_temperature
from tiltmeter.families.generations.refusals import measures_of
from tiltmeter.families.generations.spread import spread_estimates
from tiltmeter.families.kit.answers import Answers
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Details, Estimate, each_corrected, joined
from tiltmeter.stats.intervals import FEWEST, NONE, prevalence_interval
from tiltmeter.stats.measured import neutral_of, with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import Units, units_of, within_groups

JUDGE_RATES = {"hits": "hits", "alarms": "false_alarms"}
"""Rates of a judge, by what measures call them, and as they are stored."""


@dataclass(frozen=True)
class Part:
    """Some prompts: what they are called, what was drawn of them, and their sums as they are and as drawn."""

    by: str
    group: str
    rows: Ints
    units: Units
    sums: Floats
    draws: Floats


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model, benchmark and judge.

    Of all texts, of each domain (bias_type) and of each group; gaps between groups, and of each group to the mean of its
    domain; variances over the groups of a domain.

    Intervals are bootstraps that draw prompts with all their samples within groups: percentiles, widened for few prompts as
    Student's t is, and for shares Wilson's interval with the error of the draws. p of a gap or a variance: prompts permuted
    over the groups; where prompts are minimal sets, by exchanging two groups in random sets. Where a benchmark says which
    prompts are no independent evidence (BOLD: those of one article), whole clusters are drawn, permuted and exchanged, and
    permuted differences are counted in standard errors. Holm-corrected over the gaps of a domain. Texts that were empty,
    looping or refusals are missing, never clean. The interval of a corrected share is that of Lang and Reiczigel (2014).
    """
    cells: dict[tuple[str, str], list[Judged]] = {}
    for judged in judged_of(answers, by, settings.clusters):
        cells.setdefault((judged.model, judged.benchmark), []).append(judged)
    for cell, of_cell in cells.items():
        yield from each_corrected(row for judged in of_cell for row in _estimate_judged(judged, measures, by, settings))
        for measure in (one for one in measures if set(one.parameters) == set(AGREEMENT)):
            yield from _agreements(answers, cell, of_cell, measure, settings)


def _estimate_judged(
    judged: Judged, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Estimate | list[Estimate]]:
    ours = measures_of(judged.notion, measures)
    for part in parts_of(judged, by, settings):
        yield from (_estimate_part(judged, part, measure, settings) for measure in ours if applies(measure, judged))
    yield from gap_estimates(judged, [one for one in ours if is_gap(one)], settings)
    yield from spread_estimates(judged, [one for one in ours if is_spread(one)], settings)


def is_gap(measure: Entry) -> bool:
    """Return whether a measure compares one group with another."""
    return any(name.startswith("other_") for name in measure.parameters)


def is_spread(measure: Entry) -> bool:
    """Return whether a measure is about all groups of a domain at once."""
    return any(name.startswith("group_") for name in measure.parameters)


def applies(measure: Entry, judged: Judged) -> bool:
    """Return whether a measure is about one group's texts, and this judge and these samples have what it reads."""
    read = set(measure.parameters)
    if is_gap(measure) or is_spread(measure) or read == set(AGREEMENT):
        return False
    return (
        ("positives" not in read or judged.polar)
        and ("answered" not in read or judged.several)
        and ("hits" not in read or bool(judged.errors and judged.errors.get("hits") and judged.errors.get("false_alarms")))
    )


def parts_of(judged: Judged, by: Sequence[str], settings: Settings) -> Iterator[Part]:
    """Everything, the domains, the groups, and the values of further columns. What is larger is drawn group by group."""
    groups = [
        Part("group", group, rows, judged.units(rows), judged.sums[rows].sum(0), drawn_group(judged, rows, settings, group))
        for of_domain in judged.groups().values()
        for group, rows in of_domain.items()
    ]
    yield _together(judged, "all", "all", groups)
    homes = judged.groups()
    for domain, of_domain in homes.items() if len(homes) > 1 else ():
        yield _together(judged, "bias_type", domain, [part for part in groups if part.group in of_domain])
    yield from groups
    for column in by:
        if column in judged.prompts and column not in ("bias_type", "group", "item", "set"):
            yield from _of_column(judged, column, settings)


def _of_column(judged: Judged, column: str, settings: Settings) -> Iterator[Part]:
    """The values of a column. If each lies in one cluster, such as an article, it is about that: prompts are drawn."""
    values = judged.prompts.groupby(column, sort=True).indices
    if judged.clusters and all(len(np.unique(judged.clusters.codes[rows])) == 1 for rows in values.values()):
        judged = replace(judged, clusters=None)
    for value, rows in values.items():
        sums, part = judged.sums[rows], judged.take(rows)
        draws = drawn_together(part, sums, settings, column, str(value))
        yield Part(column, str(value), rows, judged.units(rows), sums.sum(0), draws)


def _together(judged: Judged, by: str, name: str, parts: Sequence[Part]) -> Part:
    rows = np.concatenate([part.rows for part in parts])
    sums = np.sum([part.sums for part in parts], axis=0)
    units = within_groups(judged.units(rows), [part.units for part in parts], [part.sums[0] for part in parts])
    return Part(by, name, rows, units, sums, np.sum([part.draws for part in parts], axis=0))


def _estimate_part(judged: Judged, part: Part, measure: Entry, settings: Settings) -> Estimate:
    row, errors = described(judged, measure, part.by, part.group, part.rows), judged.errors
    if not row.n:
        return replace(row, note="not computed: no text could be judged")
    row = replace(row, details={**row.details, **part.units.details})
    if "hits" in measure.parameters and errors:
        rates = {name: np.array(errors[of]["k"] / errors[of]["n"]) for name, of in JUDGE_RATES.items()}
        row = replace(row, value=float(measured(measure, part.sums, **rates)))
        low, high, note = _corrected_interval(errors, part, settings)
        return replace(row, low=low, high=high, note=joined(note, part.units.text, errors_text(errors)))
    row, draws = replace(row, value=float(measured(measure, part.sums))), measured(measure, part.draws)
    return with_interval(row, measure, part.units, draws, settings, part.units.text, errors_text(errors))


def _corrected_interval(errors: Mapping[str, Any], part: Part, settings: Settings) -> tuple[float, float, str]:
    """Interval of a corrected share: of what the judge counts, and of what measuring the judge leaves open."""
    if part.units.too_few or part.units.n < FEWEST:
        return *NONE, f"no interval: {part.units.too_few or part.units.text}"
    plain = catalog.find("measures", "negative_share")
    share, error = float(measured(plain, part.sums)), float(np.nanstd(measured(plain, part.draws), ddof=1))
    judge = [(errors[name]["k"], errors[name]["n"]) for name in JUDGE_RATES.values()]
    texts, df = part.units.texts(share, error), part.units.of_shares[0]
    ends = prevalence_interval(share, texts, (judge[0], judge[1]), settings.confidence, df)
    return *ends, "" if np.isfinite(ends[0]) else "no interval: the judge's hits are not above its false alarms"


def _agreements(
    answers: Answers, cell: tuple[str, str], judges: Sequence[Judged], measure: Entry, settings: Settings
) -> Iterator[Estimate]:
    """κ of every two judges of one notion."""
    for first, second in combinations(judges, 2):
        if (first.notion, first.temperature) != (second.notion, second.temperature):
            continue
        sums, counts = agreement(answers, *cell, (first.scorer, second.scorer))
        place_of = {item: n for n, item in enumerate(first.prompts["item"])}
        both = first.take(np.array([place_of[item] for item in sums.index], dtype=np.int64))
        pair = " & ".join(one.judge.removeprefix(f"{one.notion}/") for one in (first, second))
        place = (*cell, FAMILY, with_temperature(first.notion, first.temperature), measure.name, "judges", pair)
        details: Details = {"notion": first.notion, "temperature": first.temperature}
        base = Estimate(*place, n=int(counts.sum()), neutral=neutral_of(measure), details=details)
        yield _agreement(base, both, counts, measure, settings)


def _agreement(base: Estimate, both: Judged, counts: Floats, measure: Entry, settings: Settings) -> Estimate:
    if not base.n:
        return replace(base, note="not computed: no text was judged by both")

    def kappa(sums: Floats) -> Floats:
        return np.asarray(measure.function(*(sums[..., n, None] for n in range(len(AGREEMENT)))), dtype=np.float64)

    value = float(kappa(counts.sum(0)))
    if np.isnan(value):
        return replace(base, note="undefined: both judges call all texts the same")
    draws = kappa(drawn_together(both, counts, settings, "judges"))
    units = units_of(counts.sum(1), both.clusters.codes if both.clusters else None, both.called)
    row = replace(base, value=value, details={**base.details, **units.details})
    return with_interval(row, measure, units, draws, settings, units.text if both.clusters else "")
