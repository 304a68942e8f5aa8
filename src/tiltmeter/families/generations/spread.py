"""The paper's domain score: the variance over the groups of a domain of what judges say of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.described import described
from tiltmeter.families.generations.draws import COLUMN, Floats, Ints, drawn_group
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.families.generations.studentised import group_test, left_out, lone_groups, permuted
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Estimate, joined
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import with_interval
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import Units

TOP = {"group_means": "total", "group_shares": "negatives"}


def spread_estimates(judged: Judged, measures: Sequence[Entry], settings: Settings) -> Iterator[list[Estimate]]:
    """Estimate the variance over groups of every domain; the domains are tested together."""
    domains = [domain for domain, groups in judged.groups().items() if len(groups) > 1]
    for measure in measures:
        yield [_estimate_domain(judged, measure, domain, settings) for domain in domains]


def _estimate_domain(judged: Judged, measure: Entry, domain: str, settings: Settings) -> Estimate:
    groups = {name: at for name, at in judged.groups()[domain].items() if judged.sums[at, 0].sum() > 0}
    rows = np.concatenate(list(groups.values())) if groups else np.empty(0, dtype=np.int64)
    base = replace(described(judged, measure, "domain", domain, rows), n=len(groups))
    base = replace(base, details={**base.details, "n_groups": len(groups)})
    if len(groups) < 2 or len(rows) <= len(groups):
        return replace(base, note="not computed: fewer than 2 groups, or one prompt in each")
    lone, units = lone_groups(judged, groups), judged.units(rows)
    row = replace(base, value=float(spread_of(measure, np.stack([judged.sums[at].sum(0) for at in groups.values()]))))
    remarks = ("sample variance over groups", judged.units_text(rows), errors_text(judged.errors))
    if len(lone) == len(groups):
        none = f"no interval and no p: fewer than {FEWEST} {units.called} in each group"
        return replace(row, note=joined(none, *remarks))
    row = replace(row, p=_p(judged, measure, domain, groups, row.value, settings))
    careful = _too_narrow(lone, units), left_out(judged, groups)
    draws = np.stack([drawn_group(judged, at, settings, name) for name, at in groups.items()], axis=1)
    return with_interval(row, measure, units, spread_of(measure, draws), settings, *careful, *remarks)


def _p(judged: Judged, measure: Entry, domain: str, groups: Mapping[str, Ints], value: float, settings: Settings) -> float:
    """Permutation p: prompts, or whole clusters, are permuted over the groups; clusters are counted in standard errors."""
    if judged.clusters is None:
        return permutation_p(value, spread_of(measure, permuted(judged, groups, settings, domain)), 0.0)
    return group_test(judged, groups, TOP[measure.parameters[0]], settings, domain).spread()


def _too_narrow(lone: Sequence[str], units: Units) -> str:
    """A group whose prompts are from few clusters has an unknown error."""
    why = f"the interval is too narrow, because there are fewer than {FEWEST} {units.called}"
    return f"{why}: {', '.join(lone)}" if lone else ""


def spread_of(measure: Entry, sums: Floats) -> Floats:
    """The variance over groups, which are the second last axis."""
    (what,) = measure.parameters
    counts = np.where(sums[..., COLUMN["judged"]] > 0, sums[..., COLUMN["judged"]], np.nan)
    return np.asarray(measure.function(sums[..., COLUMN[TOP[what]]] / counts), dtype=np.float64)
