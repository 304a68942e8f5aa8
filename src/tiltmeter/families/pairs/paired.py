"""Paired scores: for one model, benchmark and scorer, an array per role, aligned by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS, ROLES
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.catalog import Entry
from tiltmeter.errors import UsageError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.clusters import clusters_of
from tiltmeter.families.kit.derived import kept_with_answers
from tiltmeter.families.pairs.labels import Labels
from tiltmeter.stats.estimates import Details
from tiltmeter.stats.measured import stratum_of
from tiltmeter.stats.resampling import Sample
from tiltmeter.stats.units import units_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
LABELS = ("target", "pole")
"""Labels of items that measures read, as numbers."""
UNITS = ("predicted", "actual")
"""Inputs of measures of occupations: the percentage of women by the model, and in fact."""
READS = frozenset({*ROLES, *LABELS, *UNITS})
OWN_COLUMNS = ("pole", "language", "gender", "bls_women")
"""Annotations that are taken along where items have them."""
SIDES = ("stereo", "anti")
CLUSTER = " cluster"
"""The column with the cluster of each item; no column of a file has such a name."""
LOG_PROBABILITIES = ("sss", "causal")
"""Scorers whose difference is that of two log-probabilities; scores that others published are taken for such."""
SMALL = 10
"""Items of a stratum below which it is drawn from together with others."""


@dataclass(frozen=True)
class Paired:
    """One score per item and role (NaN where missing), the items' groups, and why a score is missing."""

    model: str
    benchmark: str
    scorer: str
    scores: dict[str, Floats]
    reasons: dict[str, NDArray[np.object_]]
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def groups(self) -> pd.DataFrame:
        """The items, with a column for everything they can be grouped by."""
        return self.labels.table

    def take(self, index: NDArray[Any]) -> Paired:
        """Some of the items, by position or mask."""
        return replace(
            self,
            scores={role: values[index] for role, values in self.scores.items()},
            reasons={role: values[index] for role, values in self.reasons.items()},
            labels=self.labels.take(index),
        )

    def sample(self, stratify_by: str, *, nested: bool = False, pooled: bool = False) -> Sample:
        """The items in the order of their strata, ready to be drawn from.

        `nested`: of strata within bias types; `pooled`: small strata as one.
        """
        if stratify_by not in self.labels:
            raise UsageError(
                f"Items of {self.benchmark} have no column '{stratify_by}' to draw within (stratum).",
                code="missing-column", benchmark=self.benchmark, column=stratify_by,
            )  # fmt: skip
        columns = {**self.scores} | {name: self.labels.codes(name) for name in LABELS if name in self.labels}
        stratum, parts = self.labels.codes(stratify_by), self.labels.codes("bias_type")
        if "language" in self.labels:
            stratum = _crossed(stratum, self.labels.codes("language"))
        if nested:
            stratum = _crossed(parts, stratum)
        elif pooled:
            stratum = _with_small_ones_pooled(stratum)
        return Sample.of(columns, stratum, parts)

    @property
    def clusters(self) -> NDArray[np.int64] | None:
        """The cluster of each item, where the benchmark says which items are no independent evidence."""
        return self.labels.codes(CLUSTER) if CLUSTER in self.labels else None

    @property
    def cluster_details(self) -> Details:
        """Number of clusters that intervals rest on, where there are any."""
        if self.clusters is None or not len(self):
            return {}
        units = units_of(np.ones(len(self)), self.clusters, "clusters")
        return {"n_clusters": units.n, "effective_clusters": units.effective}

    def sample_for(self, measure: Entry) -> Sample:
        """The items as a measure has them drawn. Where it weighs bias types by size, none may change its size."""
        stratum, weighted = stratum_of(measure), measure.spec.weighted
        sample = self.sample(stratum, nested=weighted, pooled=stratum == "bias_type")
        return sample if self.clusters is None else replace(sample, cluster=self.clusters[sample.order])

    def roles_of(self, measure: Entry) -> list[str]:
        """The scores a measure reads."""
        return [name for name in measure.parameters if name not in LABELS]

    def supports(self, measure: Entry) -> bool:
        """Return whether there is a column for everything that the measure reads."""
        if not set(measure.parameters) <= READS:
            return False
        if set(measure.parameters) <= set(UNITS):
            known = self.scorer in catalog.names("scorers") and self.scorer not in LOG_PROBABILITIES
            return "bls_women" in self.labels and set(SIDES) <= set(self.scores) and not known
        labels = [name for name in LABELS if name in measure.parameters]
        has_labels = all(name in self.labels and not self.labels.lacking(name).all() for name in labels)
        return has_labels and all(role in self.scores for role in self.roles_of(measure))

    def complete_for(self, measure: Entry) -> tuple[Paired, Counter[str]]:
        """The items that the measure is defined on, and how many are missing for which reason."""
        roles = self.roles_of(measure)
        missing = np.any([np.isnan(self.scores[role]) for role in roles], axis=0)
        reasons = Counter(self._reason(roles, int(item)) for item in np.flatnonzero(missing))
        for name in (name for name in LABELS if name in measure.parameters):
            without = self.labels.lacking(name) & ~missing
            reasons.update({f"no {name}": int(without.sum())} if without.any() else {})
            missing = missing | without
        return self.take(~missing) if missing.any() else self, reasons

    def _reason(self, roles: Sequence[str], item: int) -> str:
        reasons = (self.reasons[role][item] for role in roles)
        return next((str(reason) for reason in reasons if isinstance(reason, str)), "no score")


def _crossed(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for every pair of groups.

    >>> _crossed(np.array([0, 0, 1]), np.array([3, 4, 4])).tolist()
    [0, 1, 2]
    """
    both = first * (second.max(initial=0) + 1) + second
    return np.unique(both, return_inverse=True)[1].astype(np.int64)


def _with_small_ones_pooled(stratum: NDArray[np.int64]) -> NDArray[np.int64]:
    """Strata of fewer than `SMALL` items as one: draws from two items vary half as much as they should.

    >>> _with_small_ones_pooled(np.repeat([0, 1, 2, 3], [12, 2, 3, 1])).tolist()[::6]
    [0, 0, 1]
    """
    sizes = np.bincount(stratum)
    small = np.flatnonzero((sizes > 0) & (sizes < SMALL))
    pooled = np.where(np.isin(stratum, small), small[0], stratum) if len(small) else stratum
    return np.unique(pooled, return_inverse=True)[1].astype(np.int64)


def pair_up(answers: Answers, extra_columns: Sequence[str] = (), clusters: bool = True) -> list[Paired]:
    """Every (model, benchmark, scorer) of the scores, paired by item. Computed once for the same answers.

    Without `clusters` as if all items were independent.
    """
    return _pairs(answers, tuple(column for column in extra_columns if column not in (*GROUP_COLUMNS, "all")), clusters)


@kept_with_answers
def _pairs(answers: Answers, extra_columns: Sequence[str], clusters: bool) -> Iterator[Paired]:
    """By item, in the order of their ids: what is drawn must not depend on the order of rows."""
    import pandas as pd

    table, place = answers.table, ["model", "benchmark", "scorer"]
    number = table.groupby(place, sort=False).ngroup().to_numpy()
    for at in (np.flatnonzero(number == n) for n in range(number.max(initial=-1) + 1)):
        item, ids = pd.factorize(table["item"].iloc[at], sort=True)
        roles, score, reason = (table[name].iloc[at] for name in ("role", "score", "reason"))
        values: dict[str, Floats] = {}
        reasons: dict[str, NDArray[np.object_]] = {}
        for role in ROLES:
            has = (roles == role).to_numpy()
            if has.any():
                values[role] = np.full(len(ids), np.nan)
                values[role][item[has]] = score.to_numpy(dtype=np.float64)[has]
                values[role][np.isinf(values[role])] = np.nan  # what no model gives: of two such scores none is higher
                reasons[role] = np.full(len(ids), None, dtype=object)
                reasons[role][item[has]] = reason.to_numpy(dtype=object)[has]
        first = at[np.unique(item, return_index=True)[1]]
        groups = table[["item", *GROUP_COLUMNS]].iloc[first].reset_index(drop=True)
        model, benchmark, scorer = table[place].iloc[at[0]]
        items = answers.items[answers.items["benchmark"] == benchmark]
        for column in dict.fromkeys((*extra_columns, *_own_columns(items))):
            groups[column] = group_column(items, ids, column)
        if clusters and (cluster := _clusters(answers, items, ids)) is not None:
            groups[CLUSTER] = cluster
        yield Paired(model, benchmark, scorer, values, reasons, Labels(groups))


def _clusters(answers: Answers, items: pd.DataFrame, ids: Any) -> list[str] | None:
    """The cluster of each item; None where every item is alone. An item without one is alone."""
    if "extra" not in items:
        return None
    ours = items.set_index("item").loc[list(ids)]
    names = clusters_of(answers, ours)[0]
    found = [f"alone|{item}" if name is None else f"in|{name}" for name, item in zip(names, ids, strict=True)]
    return found if len(set(found)) < len(found) else None


def _own_columns(items: pd.DataFrame) -> list[str]:
    """The annotations in OWN_COLUMNS that the items of a benchmark have."""
    extra = [str(text) for text in items["extra"]]
    return [name for name in OWN_COLUMNS if any(f'"{name}": ' in text and f'"{name}": null' not in text for text in extra)]


def choose_measures(paired: Paired, names: Sequence[str] | str | None) -> list[Entry]:
    """The requested measures (or all) for which this table has the columns."""
    names = [names] if isinstance(names, str) else names
    chosen = catalog.entries("measures") if names is None else [catalog.find("measures", name) for name in names]
    return [measure for measure in chosen if paired.supports(measure)]


def check_measures(pairs: Sequence[Paired], names: Sequence[str] | str | None) -> None:
    """Raises an error for a requested measure for which no table has the columns."""
    for name in [names] if isinstance(names, str) else names or ():
        measure = catalog.find("measures", name)
        if not any(paired.supports(measure) for paired in pairs):
            benchmarks = list(dict.fromkeys(paired.benchmark for paired in pairs))
            raise UsageError(
                f"{name} needs {', '.join(measure.parameters)}, and {', '.join(benchmarks)} has no such scores or labels.",
                code="missing-column", measure=name, columns=list(measure.parameters), benchmarks=benchmarks,
            )  # fmt: skip
