"""Groups of rows with sums of columns: a measure of a group, of one against others, of all together, and of two models.

A row is what is drawn, such as a prompt with all its texts. Rows that are no independent evidence lie in clusters, which are
drawn, permuted and exchanged whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.stats.design import Bools, Design, Floats, Ints, generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate, joined
from tiltmeter.stats.group_tests import GroupTest, Pieces, group_test
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import DrawnShare, share_difference_interval, with_interval
from tiltmeter.stats.resampling import exchange_sums
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import ITEMS, PROMPTS, Units, units_of, within_groups

CELLS_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class Clusters:
    """Rows that are no independent evidence.

    Attributes:
        codes: The cluster of each row.
        called: Plural noun for the clusters.
        shared: Whether rows of several groups are in a cluster; an entry per cluster.
    """

    codes: Ints
    called: str
    shared: Bools

    def take(self, rows: Ints) -> Clusters:
        """Select the clusters of some rows. Shared clusters remain shared, so that the draws of others stay the same."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True)
class Contrast:
    """A measure of one group, of a group against another or the mean of all (`other_…`), or of all means (`group_…`).

    Attributes:
        measure: The measure; its parameters are columns.
        top: The column of which groups that are compared have means.
        group: Place of the group.
        other: Place of the group that it is compared with; None for the mean of all groups, each of which counts once.
        constants: What the measure reads besides sums.
    """

    measure: Entry
    top: str = ""
    group: int = 0
    other: int | None = None
    constants: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def is_gap(self) -> bool:
        """Return whether a group is compared with others."""
        return any(name.startswith("other_") for name in self.measure.parameters)

    @property
    def is_spread(self) -> bool:
        """Return whether it is about all groups at once."""
        return any(name.startswith("group_") for name in self.measure.parameters)

    def of(self, sums: Floats, columns: Sequence[str]) -> Floats:
        """Compute it from sums; their last two axes are groups and columns, the first of which counts."""
        known = dict(self.constants)
        if self.is_spread or (self.is_gap and self.other is None):
            means = sums[..., columns.index(self.top)] / np.where(sums[..., 0] > 0, sums[..., 0], np.nan)
            known |= {f"other_{self.top}": means, f"other_{columns[0]}": np.ones_like(means)}
            known |= {name: means for name in self.measure.parameters if name.startswith("group_")}
        for n, name in enumerate(columns):  # with an axis of length 1 for the measure to sum over
            known[name] = sums[..., self.group, n, None]
            if self.other is not None:
                known[f"other_{name}"] = sums[..., self.other, n, None]
        return np.asarray(self.measure.function(**{name: known[name] for name in self.measure.parameters}), dtype=np.float64)


@dataclass(frozen=True)
class Rows:
    """Sums of columns for every row.

    Attributes:
        sums: Rows × columns.
        columns: Names of the columns; the first counts what the others sum.
        labels: Name the random streams of draws; equal labels and numbers of rows have the same draws.
        clusters: The clusters of the rows; None where all are independent.
    """

    sums: Floats
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    clusters: Clusters | None = None

    @property
    def called(self) -> str:
        """Name of the units that are drawn, in the plural."""
        return self.clusters.called if self.clusters else PROMPTS

    def units(self, at: Ints) -> Units:
        """Count the units that an interval of some rows rests on: rows in which something is counted, and their clusters."""
        return units_of(self.sums[at, 0], self.clusters.codes[at] if self.clusters else None, self.called)

    def by_cluster(self, at: Ints) -> Floats:
        """Add up some rows within their clusters, in the order of the codes; the rows themselves where there are none."""
        return Design.clustered(self.clusters.codes[at]).sums(self.sums[at]) if self.clusters else self.sums[at]

    def drawn(self, table: Floats, settings: Settings, *labels: str) -> Floats:
        """Add up a table over its first axis, with replacement: draws × the other axes of the table."""
        rng = generator(settings.seed, *self.labels, *labels, str(len(table)))
        flat = table.reshape(len(table), -1)
        found = Design.independent(len(table)).drawn_sums(flat, settings.resamples, rng, CELLS_AT_ONCE)
        return found.reshape(-1, *table.shape[1:])

    def drawn_within(self, at: Ints, settings: Settings, *labels: str) -> Floats:
        """Draw the rows of a group, or their clusters: draws × columns.

        Clusters of one group are drawn within it, those that several groups share among themselves, and the same for all
        groups, so that what groups share cancels in a gap. Of a group that has a single cluster rows are drawn, for want of
        more: that is less than its error (and it has no interval of its own).
        """
        if self.clusters is None:
            return self.drawn(self.sums[at], settings, *labels)
        codes, shared = self.clusters.codes, self.clusters.shared
        pool = np.unique(codes[shared[codes]])
        common = shared[codes[at]] & (len(pool) > 1)
        own = at[~common]
        alone = len(np.unique(codes[own])) < 2
        found = np.zeros((settings.resamples, len(self.columns)))
        if len(own):
            found += self.drawn(self.sums[own] if alone else self.by_cluster(own), settings, *labels)
        if common.any():
            sums = np.zeros((len(pool), len(self.columns)))
            np.add.at(sums, np.searchsorted(pool, codes[at[common]]), self.sums[at[common]])
            found += self.drawn(sums, settings, "shared clusters")
        return found

    def whole(self, at: Ints, name: str, settings: Settings, *labels: str) -> Groups:
        """Make one group of some rows."""
        draws = self.drawn(self.by_cluster(at), settings, *labels)
        return Groups(self, {name: at}, self.sums[at].sum(0)[None], draws[:, None], (self.units(at),), settings)

    def groups(self, at: Mapping[str, Ints], settings: Settings) -> Groups:
        """Make groups that are drawn within themselves."""
        draws = [self.drawn_within(rows, settings, name) for name, rows in at.items()]
        units = tuple(self.units(rows) for rows in at.values())
        return Groups(self, at, _summed(self.sums, at), np.stack(draws, axis=1), units, settings)

    def jointly(self, at: Mapping[str, Ints], design: Design, settings: Settings) -> Groups:
        """Make groups of which whole clusters are drawn together, within the strata of a design, and tested."""
        groups = Groups(self, at, _summed(self.sums, at), np.empty(0), (), settings, (*self.labels, "test"), 2)
        draws = groups.pieces.drawn(design, settings.resamples, generator(settings.seed, *self.labels))
        return replace(groups, draws=draws, units=tuple(Units.independent(int(n)) for n in groups.pieces.n_clusters))


@dataclass(frozen=True)
class Groups:
    """Groups of rows: what is known of them, and what is drawn.

    Attributes:
        rows: All rows.
        at: The rows of each group.
        sums: Groups × columns.
        draws: Draws × groups × columns.
        units: The units of each group that are drawn.
        settings: Level of intervals and seed of tests.
        labels: Name the random stream of a test.
        fewest: Clusters without which a group is left out of tests.
    """

    rows: Rows
    at: Mapping[str, Ints]
    sums: Floats
    draws: Floats
    units: tuple[Units, ...]
    settings: Settings
    labels: tuple[str, ...] = ()
    fewest: int = FEWEST

    @cached_property
    def names(self) -> list[str]:
        """Names of the groups."""
        return list(self.at)

    @cached_property
    def every(self) -> Ints:
        """The rows of all groups."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self.at.values()])

    def select(self, names: Sequence[str], *labels: str) -> Groups:
        """Select groups by name. The labels name the random stream of their test."""
        places = [self.names.index(name) for name in names]
        units = tuple(self.units[n] for n in places)
        at = {name: self.at[name] for name in names}
        draws = np.take(self.draws, places, axis=1)
        return Groups(self.rows, at, self.sums[places], draws, units, self.settings, labels, self.fewest)

    def together(self, name: str) -> Groups:
        """Join all groups in one, of which each part is drawn within itself."""
        units = within_groups(self.rows.units(self.every), self.units, self.sums[:, 0].tolist())
        sums, draws = self.sums.sum(0)[None], self.draws.sum(1)[:, None]
        return replace(self, at={name: self.every}, sums=sums, draws=draws, units=(units,))

    @property
    def lone(self) -> dict[str, Units]:
        """The groups with too few clusters for a test, where rows have clusters."""
        each = zip(self.at, self.units, strict=True)
        return {name: units for name, units in each if self.rows.clusters and units.n < FEWEST}

    @property
    def left_out(self) -> str:
        """The groups that a test leaves out, for notes."""
        few = [units.few for units in self.lone.values()]
        return f"p leaves out {', '.join(self.lone)}: {few[0]}" if few else ""

    def units_of(self, contrast: Contrast) -> Units:
        """Count the units that an interval rests on: those of a group, of the weaker of two, or of all."""
        if contrast.is_spread:
            return self.rows.units(self.every)
        units = self.units[contrast.group]
        return units if contrast.other is None else units.least(self.units[contrast.other])

    def value(self, contrast: Contrast, sums: Floats | None = None) -> Floats:
        """Compute a contrast of these groups, or of other sums of them."""
        return contrast.of(self.sums if sums is None else sums, self.rows.columns)

    @cached_property
    def pieces(self) -> Pieces:
        """Sums of each row, or each cluster and group, that tests permute; rows that count nothing leave clusters."""
        group = np.repeat(np.arange(len(self.at)), [len(rows) for rows in self.at.values()])
        if self.rows.clusters is None:
            return Pieces(self.rows.sums[self.every], np.arange(len(self.every)), group, len(self.at))
        there = self.rows.sums[self.every, 0] > 0
        at = self.every[there]
        return Pieces.of(self.rows.sums[at], self.rows.clusters.codes[at], group[there], len(self.at))

    @property
    def _stream(self) -> np.random.Generator:
        return generator(self.settings.seed, *self.labels)

    @cached_property
    def permuted(self) -> Floats:
        """Sums of the groups when rows, or whole clusters, are permuted over them: permutations × groups × columns."""
        return self.pieces.permuted(self.settings.resamples, self._stream)

    @cached_property
    def _tests(self) -> dict[str, GroupTest]:
        return {}

    def test(self, top: str) -> GroupTest:
        """Test groups whose rows have clusters by the means of a column, which are counted in standard errors."""
        if top not in self._tests:
            pieces = replace(self.pieces, sums=self.pieces.sums[:, [0, self.rows.columns.index(top)]])
            self._tests[top] = group_test(self.names, pieces, self.settings.resamples, self._stream, self.fewest)
        return self._tests[top]

    def p(self, contrast: Contrast) -> float:
        """Permute rows, or whole clusters, over the groups; clusters are counted in standard errors."""
        if not (contrast.is_gap or contrast.is_spread):
            return np.nan
        if self.rows.clusters is None:
            return permutation_p(float(self.value(contrast)), self.value(contrast, self.permuted), 0.0)
        test = self.test(contrast.top)
        if contrast.is_spread:
            return test.spread()
        own = self.names[contrast.group]
        return test.to_mean(own) if contrast.other is None else test.gap(own, self.names[contrast.other])

    def obstacle(self, contrast: Contrast, p: float) -> str:
        """Return why groups that are compared have neither an interval nor p."""
        units = self.units_of(contrast)
        if contrast.is_spread and (len(self.lone) == len(self.at) or len(self.every) <= len(self.at)):
            return f"no interval and no p: fewer than {FEWEST} {units.called} in each group"
        is_few = contrast.is_gap and units.called not in (PROMPTS, ITEMS) and units.n < FEWEST
        return f"no interval and no p: {units.few}" if is_few and np.isnan(p) else ""

    def estimated(self, row: Estimate, contrast: Contrast, *remarks: str) -> Estimate:
        """Fill in value, p and interval, and add remarks to the note."""
        row = replace(row, value=float(self.value(contrast)), p=self.p(contrast))
        if obstacle := self.obstacle(contrast, row.p):
            row = replace(row, note=joined(obstacle, *remarks))
        else:
            draws, units = self.value(contrast, self.draws), self.units_of(contrast)
            row = with_interval(row, contrast.measure, units, draws, self.settings, *remarks)
        return self._with_shares(row, contrast) if contrast.measure.spec.difference_of else row

    def _with_shares(self, row: Estimate, contrast: Contrast) -> Estimate:
        """Replace an interval by Newcombe's, where a gap is the difference of two shares.

        To the mean of all groups it is a part of the difference from the mean of the others.
        """
        share, to_mean = catalog.find("measures", str(contrast.measure.spec.difference_of)), contrast.other is None
        others = [n for n in range(len(self.at)) if n != contrast.group and contrast.other in (n, None)]
        first, second = self._mean_share(share, [contrast.group]), self._mean_share(share, others)
        if np.isfinite(row.low):
            part = 1 - 1 / len(self.at) if to_mean else 1.0
            low, high = share_difference_interval(first, second, self.settings)
            row = replace(row, low=part * low, high=part * high)
        if np.isnan(row.low) and to_mean and second.units.too_few:
            row = replace(row, note=joined(row.note, f"no interval: {second.units.too_few} in the other groups"))
        return row

    def _mean_share(self, share: Entry, places: Sequence[int]) -> DrawnShare:
        """Compute the mean of some groups' shares, each of which counts once."""
        shares = [Contrast(share, group=n) for n in places]
        values, draws = ([self.value(one, sums) for one in shares] for sums in (self.sums, self.draws))
        units = self.rows.units(np.concatenate([self.at[self.names[n]] for n in places]))
        units = self.units[places[0]] if len(places) == 1 else units
        return DrawnShare(float(np.mean(values)), np.mean(draws, axis=0), units)


@dataclass(frozen=True)
class PairedGroups(Groups):
    """Two groups of which every row of one belongs to the row of the other in the same place.

    Attributes:
        n_pairs: Number of pairs, which may lie in fewer clusters.
    """

    n_pairs: int = 0

    @classmethod
    def of(
        cls, names: Sequence[str], table: Floats, rows: Rows, codes: Ints | None, settings: Settings, *labels: str
    ) -> PairedGroups:
        """Pair the rows of two groups, which are drawn and exchanged together.

        Args:
            names: Names of the groups.
            table: Pairs × groups × columns.
            rows: The rows that they were made of, with the labels of the draws and the noun of the clusters.
            codes: The cluster of each pair; None where all are independent.
            settings: Level of intervals and seed of tests.
            labels: Name the random stream of the test.
        """
        n_pairs, clusters = len(table), None
        if codes is not None:
            table = Design.clustered(codes).sums(table.reshape(n_pairs, -1)).reshape(-1, *table.shape[1:])
            clusters = Clusters(np.tile(np.arange(len(table)), 2), rows.called, np.ones(len(table), dtype=bool))
        both = replace(rows, sums=np.concatenate([*table.swapaxes(0, 1)]), clusters=clusters)
        at = dict(zip(names, np.arange(2 * len(table)).reshape(2, -1), strict=True))
        units, draws = both.units(np.arange(len(table))), both.drawn(table, settings)
        return cls(both, at, _summed(both.sums, at), draws, (units, units), settings, labels, n_pairs=n_pairs)

    def p(self, contrast: Contrast) -> float:
        """Exchange the two groups in random rows."""
        first, second = (self.rows.sums[at] for at in self.at.values())
        design, every = Design.independent(len(first)), np.arange(len(first))
        *found, is_exact = exchange_sums(design, (first, second), [every], self.settings.resamples, self._stream)
        exchanged = self.value(contrast, np.concatenate(found, axis=1))
        return permutation_p(float(self.value(contrast)), exchanged, 0.0, is_exact=is_exact)


def compare_groups(row: Difference, ours: Groups, theirs: Groups, contrast: Contrast) -> Difference:
    """Compare two models on the same groups of the same rows, which have the same draws.

    The models are exchanged in random rows or clusters where a share, or a one-sided measure, needs it.
    """
    settings = ours.settings

    def exchanged() -> tuple[Floats, bool]:
        codes = ours.rows.clusters.codes if ours.rows.clusters else np.arange(len(ours.rows.sums))
        rng = generator(settings.seed, "exchanging models", row.benchmark)
        sides, groups = (ours.rows.sums, theirs.rows.sums), list(ours.at.values())
        *found, is_exact = exchange_sums(Design.clustered(codes), sides, groups, settings.resamples, rng)
        return ours.value(contrast, found[0]) - ours.value(contrast, found[1]), is_exact

    values = [float(one.value(contrast, _summed(one.rows.sums, one.at))) for one in (ours, theirs)]
    draws, units = [one.value(contrast, one.draws) for one in (ours, theirs)], ours.units_of(contrast)
    row = paired_difference(row, values, draws, contrast.measure, settings, units=units, exchanged=exchanged)
    if contrast.is_spread and (obstacle := ours.obstacle(contrast, np.nan)):
        return replace(row, low=np.nan, high=np.nan, p=np.nan, details={}, note=obstacle)
    return row


def _summed(sums: Floats, at: Mapping[str, Ints]) -> Floats:
    return np.stack([sums[rows].sum(0) for rows in at.values()])
