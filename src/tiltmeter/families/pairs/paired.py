"""Scores side by side: for one model, benchmark and scorer, an array per role, aligned by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS, ROLES
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.resampling import Sample

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
READS = frozenset({*ROLES, "target"})
SIDES = ("stereo", "anti")


@dataclass(frozen=True)
class Paired:
    """One score per item and role (NaN where missing), the items' groups, and why a score is missing."""

    model: str
    benchmark: str
    scorer: str
    scores: dict[str, Floats]
    reasons: dict[str, NDArray[np.object_]]
    groups: pd.DataFrame
    _codes: dict[str, Ints] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, index: NDArray[Any]) -> Paired:
        """Some of the items, by position or mask."""
        return Paired(
            self.model,
            self.benchmark,
            self.scorer,
            {role: values[index] for role, values in self.scores.items()},
            {role: values[index] for role, values in self.reasons.items()},
            self.groups[index] if index.dtype == bool else self.groups.iloc[index],
        )

    def codes(self, column: str) -> Ints:
        """The groups of a column as numbers, in the order of their names; kept, since every measure asks for them."""
        import pandas as pd

        if column not in self._codes:
            self._codes[column] = np.asarray(pd.factorize(self.groups[column].astype(str), sort=True)[0], dtype=np.int64)
        return self._codes[column]

    def sample(self, stratify_by: str) -> Sample:
        """The items in the order of their strata, ready to be drawn from."""
        columns = {**self.scores, "target": self.codes("target")}
        return Sample.of(columns, self.codes(stratify_by), self.codes("bias_type"))

    def roles_of(self, measure: Entry) -> list[str]:
        """The roles a measure reads."""
        return [name for name in measure.parameters if name in ROLES]

    def supports(self, measure: Entry) -> bool:
        """Whether there is a column for everything that the measure reads."""
        if not set(measure.parameters) <= READS:
            return False
        has_target = "target" not in measure.parameters or bool(self.groups["target"].notna().any())
        return has_target and all(role in self.scores for role in self.roles_of(measure))

    def complete_for(self, measure: Entry) -> tuple[Paired, Counter[str]]:
        """The items that the measure is defined on, and how many are missing for which reason."""
        roles = self.roles_of(measure)
        missing = np.any([np.isnan(self.scores[role]) for role in roles], axis=0)
        reasons = Counter(self._reason(roles, int(item)) for item in np.flatnonzero(missing))
        if "target" in measure.parameters:
            without = self.groups["target"].isna().to_numpy() & ~missing
            reasons.update({"no target": int(without.sum())} if without.any() else {})
            missing = missing | without
        return self.take(~missing) if missing.any() else self, reasons

    def _reason(self, roles: Sequence[str], item: int) -> str:
        reasons = (self.reasons[role][item] for role in roles)
        return next((str(reason) for reason in reasons if isinstance(reason, str)), "no score")


_known: WeakKeyDictionary[Answers, dict[tuple[str, ...], list[Paired]]] = WeakKeyDictionary()


def pair_up(answers: Answers, extra_columns: Sequence[str] = ()) -> list[Paired]:
    """Every (model, benchmark, scorer) of the scores, paired by item. Computed once for the same answers."""
    kept = _known.setdefault(answers, {})
    key = tuple(column for column in extra_columns if column not in (*GROUP_COLUMNS, "all"))
    if key not in kept:
        kept[key] = list(_pairs(answers, key))
    return kept[key]


def _pairs(answers: Answers, extra_columns: Sequence[str]) -> Iterator[Paired]:
    import pandas as pd

    for (model, benchmark, scorer), rows in answers.table.groupby(["model", "benchmark", "scorer"], sort=False):
        item, ids = pd.factorize(rows["item"])
        values: dict[str, Floats] = {}
        reasons: dict[str, NDArray[np.object_]] = {}
        for role in ROLES:
            at = (rows["role"] == role).to_numpy()
            if at.any():
                values[role] = np.full(len(ids), np.nan)
                values[role][item[at]] = rows["score"].to_numpy(dtype=np.float64)[at]
                reasons[role] = np.full(len(ids), None, dtype=object)
                reasons[role][item[at]] = rows["reason"].to_numpy(dtype=object)[at]
        first = rows.drop_duplicates("item").set_index("item").loc[ids]
        groups = first[list(GROUP_COLUMNS)].rename_axis("item").reset_index()
        items = answers.items[answers.items["benchmark"] == benchmark]
        for column in extra_columns:
            groups[column] = group_column(items, ids, column)
        yield Paired(model, benchmark, scorer, values, reasons, groups)


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
            benchmarks = ", ".join(dict.fromkeys(paired.benchmark for paired in pairs))
            raise TiltmeterError(
                f"{name} needs {', '.join(measure.parameters)}, and {benchmarks} has no such scores or labels."
            )
