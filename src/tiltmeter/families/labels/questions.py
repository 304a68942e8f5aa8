"""Questions about labels: a measure of some texts by several seeds, its interval at two levels, and its test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.display import share_text
from tiltmeter.families.kit.questions import Question
from tiltmeter.families.labels.facts import Bools, Facts, Floats, Ints
from tiltmeter.stats.design import generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Details, Difference
from tiltmeter.stats.group_tests import Pieces, group_test
from tiltmeter.stats.intervals import FEWEST
from tiltmeter.stats.measured import DrawnShare, neutral_of, share_difference_interval, with_interval
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.seeds import SeededRows
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.stats.units import Units

CELLS = 4_000_000
"""Weights held at once; a question about more texts than that allows gets fewer resamples, and says so."""
CHANCE_NOTE = "mean over permutations within clusters, since texts of a cluster are not independent"
Place = tuple[str, str, str]
"""How texts are read, and the column and group that a number is about."""


@dataclass(frozen=True, eq=False)
class LabelQuestion(Question):
    """One measure of some texts.

    Attributes:
        rows: What the measure reads of the texts.
        n: Number of the texts that it counts.
        why_not: Why there is no estimate.
        details: Further facts by name.
        draws: How often each cluster of all texts is in each draw, some draws at a time.
    """

    rows: SeededRows
    n: int
    why_not: str
    details: Details = field(default_factory=dict)
    draws: Sequence[Floats] = ()

    FAMILY = "labels"
    UNDEFINED = "not computed: no text is left on one of the two sides that are compared"
    cell: Facts

    @classmethod
    def of(
        cls, facts: Facts, measure: Entry, place: Place, rows: Ints, values: Floats, counted: tuple[int, str], **of: Bools
    ) -> LabelQuestion:
        """Ask for a measure of some rows of all texts.

        Args:
            facts: All texts.
            measure: The measure.
            place: Its place in the tables.
            rows: The texts that it is about.
            values: How all texts are called, or scored.
            counted: The number of texts, and why there is no estimate.
            of: The member or members that the measure reads.
        """
        name = "called" if "called" in measure.parameters else "score"
        fixed = {key: array[..., rows] for key, array in ({"truth": facts.truth} | of).items()}
        known, (scorer, column, group) = SeededRows(measure, facts.clusters[rows], {name: values[:, rows]}, fixed), place
        return cls(replace(facts, scorer=scorer), measure, column, group, known, *counted)

    @property
    def counted(self) -> dict[str, Any]:
        """Count the texts; of those without a probability, the reasons are known for all texts together."""
        reasons = json.dumps(dict(self.cell.reasons)) if self.cell.reasons else ""
        n_missing = self.cell.n_missing(self.by, self.group)
        return {"n": self.n, "n_missing": n_missing, "missing": reasons, "details": self.details}

    @property
    def is_point(self) -> bool:
        """Return whether it is a point of a curve, which is neither tested nor compared."""
        return "threshold" in self.details

    @property
    def subject(self) -> tuple[str, ...]:
        """Texts of two models are read alike."""
        return self.measure.name, self.cell.scorer, self.by, self.group

    def in_common(self, theirs: LabelQuestion) -> tuple[Self, LabelQuestion, dict[str, Any]]:
        """Both are about the texts that both models label."""
        n_missing = max(one.cell.n_missing(self.by, self.group) for one in (self, theirs))
        return replace(self, why_not=self.why_not or theirs.why_not), theirs, {"n": self.n, "n_missing": n_missing}

    def lacking(self, by_whom: str = "") -> str:
        """Return why there is no estimate."""
        return self.why_not

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Draw texts and seeds for the interval, and permute for p who is called toxic."""
        facts, measure, spec = self.cell, self.measure, self.measure.spec
        if facts.clustered and spec.chance_of is not None:
            by_chance = self._under_chance(spec.chance_of, settings)
            return [Measured(replace(self.blank, value=float(np.nanmean(by_chance)), note=CHANCE_NOTE))]
        found, share = self._drawn(settings, self._seeds(settings))
        if np.isnan(found.value):  # `kaggle_score` reads groups of more than 500 texts only
            note = "not computed: no group has enough texts" if "members" in self.rows.fixed else ""
            return [Measured(replace(self.blank, note=note))]
        n = len(found.draws)
        details = {**self.details, "seeds_share": share, "n_resamples": n}
        row = replace(self.blank, value=found.value, p=self.p(found.value, settings), details=details)
        of_seeds = "" if np.isnan(share) else f"{share_text(share, 0)} of the variance is that of the seeds"
        fewer = f"interval from {n} resamples, since there are many texts" if n < settings.resamples else ""
        row = with_interval(row, measure, found.units, found.draws, settings, of_seeds, fewer)
        if spec.difference_of:
            member, seeds = self.rows.fixed["member"], self._seeds(settings)
            parts = [self._about(catalog.find("measures", spec.difference_of), side) for side in (member, ~member)]
            naming, rest = (part._drawn(settings, seeds)[0] for part in parts)
            low, high = share_difference_interval(naming, rest, settings)
            row = replace(row, low=low, high=high)
        return [Measured(row)]

    def compared(self, row: Difference, theirs: LabelQuestion, settings: Settings) -> Difference:
        """Draw the same texts for both models, and each model's own seeds."""
        pair = (self, theirs)
        found = [one._drawn(settings, one._seeds(settings))[0] for one in pair]
        units = min((one.units for one in found), key=lambda side: side.df)
        seeds = {one.rows.n_seeds for one in pair}
        # Exchanging texts leaves out the noise of training: alone it serves single seeds; one-sided measures take the wider.
        may_exchange = seeds == {1} or (len(seeds) == 1 and self.measure.spec.is_one_sided)
        rng = generator(settings.seed, "exchanged", self.cell.benchmark, self.by)
        exchanged = partial(self.rows.exchanged, theirs.rows, settings.resamples, rng) if may_exchange else None
        values, draws = [one.value for one in found], [one.draws for one in found]
        return paired_difference(row, values, draws, self.measure, settings, units=units, exchanged=exchanged)

    def p(self, value: float, settings: Settings) -> float:
        """Compute the permutation p, only where groups are compared, and not for each point of a curve."""
        neutral = neutral_of(self.measure)
        tested = {"member", "members"} & set(self.rows.fixed) and "called" in self.rows.varying and not self.is_point
        if np.isnan(neutral) or not tested:
            return float("nan")
        if self.cell.clustered:
            return self._groups_p(settings)
        again = self._under_chance(self.measure.function, settings)
        centre = neutral if self.measure.spec.is_one_sided else float(np.nanmean(again))
        return permutation_p(value, again, centre)

    def _about(self, measure: Entry, side: Bools) -> Self:
        """Ask for another measure of some of these texts."""
        return replace(self, measure=measure, rows=self.rows.take(measure, side), n=int(side.sum()))

    def _drawn(self, settings: Settings, seeds: np.random.Generator) -> tuple[DrawnShare, float]:
        """The measure of the texts, and of draws of texts and seeds; and which part of its variance is that of the seeds."""
        found = self.rows.drawn(self.draws, self._affordable(settings))
        units = self._units.with_seeds(self.rows.n_seeds, found.seeds_share)
        return DrawnShare(found.value, found.both(seeds), units), found.seeds_share

    def _affordable(self, settings: Settings) -> int:
        """Areas are not sums, so each draw costs as much as the texts; a large sample needs fewer draws."""
        rows = self.rows
        if "score" not in rows.varying:
            return settings.resamples
        cost = len(rows.cluster) * (3 * len(rows.fixed["members"]) if "members" in rows.fixed else 1)
        return int(np.clip(10 * CELLS // max(1, cost), MINIMUM_RESAMPLES, settings.resamples))

    @property
    def _units(self) -> Units:
        """Count the independent texts, or clusters of texts."""
        rows, n = self.rows, len(np.unique(self.rows.cluster))
        units = Units.independent(min(n, self.n) if self.n else n)
        if "score" not in rows.varying:
            return units
        truth, member = rows.fixed["truth"], rows.fixed.get("member")  # an area varies as the smaller of its sides
        groups = [truth | ~truth] if member is None else [member, ~member]
        sides = rows.needed([label & group for label in (truth, ~truth) for group in groups])
        smaller = min((len(np.unique(rows.cluster[side])) for side in sides), default=0)
        return replace(units, n=min(units.n, smaller), effective=min(units.effective, 2.0 * smaller))

    def _under_chance(self, measure: Callable[..., Floats], settings: Settings) -> Floats:
        """A measure under chance: predicted labels are permuted among texts of one label (and one cluster)."""
        strata = self.rows.fixed["truth"].astype(np.int64) + (2 * self.rows.cluster if self.cell.clustered else 0)
        return self.rows.permuted(measure, strata, settings.resamples, self._permutations(settings))

    def _groups_p(self, settings: Settings) -> float:
        """p of groups whose texts come in clusters: clusters are permuted, and rates are compared in standard errors.

        Of a measure of both rates, the smaller p counts twice. Groups with too few clusters are left out.
        """
        rows, rng, found = self.rows, self._permutations(settings), []
        truth, called, member = rows.fixed["truth"], np.mean(rows.varying["called"], axis=0), rows.fixed.get("member")
        members = rows.fixed["members"] if member is None else np.stack([member, ~member])
        for side in rows.needed([truth, ~truth]):
            group, row = np.nonzero(members & side)
            pieces = Pieces.of(np.stack([np.ones(len(row)), called[row]], axis=1), rows.cluster[row], group, len(members))
            test = group_test([str(n) for n in range(len(members))], pieces, settings.resamples, rng, FEWEST)
            found.append(test.gap("0", "1") if member is not None else test.spread())
        return min(1.0, len(found) * min(found)) if found and np.isfinite(found).all() else float("nan")

    def _seeds(self, settings: Settings) -> np.random.Generator:
        """The random stream of a model's seeds."""
        return generator(settings.seed, "seeds", self.cell.model, self.cell.benchmark)

    def _permutations(self, settings: Settings) -> np.random.Generator:
        return generator(settings.seed, "dealt", self.cell.benchmark, self.by)
