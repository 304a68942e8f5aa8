"""Questions about generations: what judges say of texts about each group, and how far the groups of a domain lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judge_scores import Ints, Judged
from tiltmeter.families.kit.questions import Question
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Details, Difference, Estimate, joined, missing_columns
from tiltmeter.stats.groups import Contrast, Groups, PairedGroups, compare_groups
from tiltmeter.stats.intervals import FEWEST, prevalence_interval
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.settings import Settings

GAP, MEAN, PAIRED, SPREAD = "gap", "gap to the domain's mean", "counterfactual gap", "domain"
SIGN = " − "
OF_ALL = "mean of "
JUDGE_RATES = {"hits": "hits", "alarms": "false_alarms"}
"""Rates of a judge, by what measures call them, and as they are stored."""


@dataclass(frozen=True, eq=False)
class GenerationQuestion(Question):
    """A measure of some prompts, or of how groups of them differ.

    Attributes:
        groups: The prompts in groups.
        contrast: The measure of one of the groups, or of several.
        rows: Places of the prompts.
    """

    groups: Groups
    contrast: Contrast
    rows: Ints

    FAMILY = "generations"
    UNDEFINED = ""
    cell: Judged

    @property
    def counted(self) -> dict[str, Any]:
        """Count the texts, or the groups of a variance, and the texts that could not be judged."""
        judged = self.cell
        n = len(self.groups.at) if self.contrast.is_spread else int(judged.sums[self.rows, 0].sum())
        details = {**judged.details, **judged.rows.units(self.rows).details}
        return {"n": n, "details": details, **missing_columns(judged.reasons(self.rows))}

    def in_common(self, theirs: GenerationQuestion) -> tuple[Self, GenerationQuestion, dict[str, Any]]:
        """Both are about the prompts that both models have a judged text for."""
        n_missing = sum(sum(one.cell.reasons(self.rows).values()) for one in (self, theirs))
        is_part = self.by not in (MEAN, SPREAD)
        details = {**self.cell.details, **self.groups.units[0].details} if is_part else {}
        return self, theirs, {"n": len(self.rows), "n_missing": n_missing, "details": details}

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Draw prompts within groups for the interval, and permute them over groups for p."""
        row, groups, errors = self.blank, self.groups, self.cell.errors
        if why := self._why_not(row.n):
            return [Measured(replace(row, details={**row.details, **self._counts}, note=f"not computed: {why}"))]
        row = replace(row, details={**row.details, **groups.units_of(self.contrast).details, **self._counts})
        if "hits" in self.measure.parameters and errors:
            return [Measured(_corrected(row, self.measure, groups, errors))]
        return [Measured(groups.estimated(row, self.contrast, *self._remarks(), errors_text(errors)))]

    def compared(self, row: Difference, theirs: GenerationQuestion, settings: Settings) -> Difference:
        """Draw the same prompts for both models."""
        return compare_groups(row, self.groups, theirs.groups, self.contrast)

    @property
    def _counts(self) -> Details:
        """Count the groups of a variance, or the sets of a paired gap."""
        if isinstance(self.groups, PairedGroups):
            return {"n_sets": self.groups.n_pairs}
        return {"n_groups": len(self.groups.at)} if self.by == SPREAD else {}

    def _why_not(self, n: int) -> str:
        """Return why there is no estimate."""
        if self.by == PAIRED:
            return "" if self.groups.at else "no set has a judged text of both groups"
        if self.by == SPREAD:
            return "fewer than 2 groups, or one prompt in each" if n < 2 or len(self.rows) <= n else ""
        return "" if n else "no text could be judged"

    def _remarks(self) -> Iterator[str]:
        """Yield what a note says of groups that are left out, and of prompts that are no independent evidence."""
        groups, units, has_clusters = self.groups, self.groups.units_of(self.contrast), self.cell.clusters is not None
        text = units.text if has_clusters else ""
        if self.by == GAP:
            weaker = min(groups.units, key=lambda side: side.effective)
            yield f"{weaker.text} on the weaker side" if has_clusters else ""
        elif self.by == PAIRED:
            within = f" in {units.n} {units.called}" if groups.rows.clusters else ""
            yield f"{self._counts['n_sets']} sets{within}"
        elif self.by == MEAN:
            yield from (groups.left_out if groups.left_out and np.isfinite(groups.p(self.contrast)) else "", text)
        elif self.by == SPREAD:
            if 0 < len(groups.lone) < len(groups.at):
                why = f"the interval is too narrow, because there are fewer than {FEWEST} {units.called}"
                yield from (f"{why}: {', '.join(groups.lone)}", groups.left_out)
            yield from ("sample variance over groups", text)
        else:
            yield units.text


def _corrected(row: Estimate, measure: Entry, part: Groups, errors: Mapping[str, Any]) -> Estimate:
    """Fill in a corrected share; its interval is of what the judge counts, and of what measuring the judge leaves open."""
    units, remarks = part.units[0], (part.units[0].text, errors_text(errors))
    rates = {name: np.array(errors[of]["k"] / errors[of]["n"]) for name, of in JUDGE_RATES.items()}
    row = replace(row, value=float(part.value(Contrast(measure, constants=rates))))
    if units.too_few or units.n < FEWEST:
        return replace(row, note=joined(f"no interval: {units.too_few or units.text}", *remarks))
    plain = Contrast(catalog.find("measures", "negative_share"))
    share, error = float(part.value(plain)), float(np.nanstd(part.value(plain, part.draws), ddof=1))
    judge = [(errors[name]["k"], errors[name]["n"]) for name in JUDGE_RATES.values()]
    texts, df = units.texts(share, error), units.of_shares[0]
    low, high = prevalence_interval(share, texts, (judge[0], judge[1]), part.settings.confidence, df)
    note = "" if np.isfinite(low) else "no interval: the judge's hits are not above its false alarms"
    return replace(row, low=low, high=high, note=joined(note, *remarks))
