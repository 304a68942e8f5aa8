"""Scores laid side by side: for one model, benchmark and scorer, an array per role, aligned by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import ROLES
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    def roles_of(self, measure: Entry) -> list[str]:
        """The roles a measure reads."""
        return [name for name in measure.parameters if name in ROLES]

    def supports(self, measure: Entry) -> bool:
        """Whether every column that the measure reads is there at all."""
        if not set(measure.parameters) <= {*ROLES, "target"}:  # it reads slots, vectors or groups, not pairs
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
        said = (self.reasons[role][item] for role in roles)
        return next((str(reason) for reason in said if isinstance(reason, str)), "no score")


def pair_up(scores: Scores, extra_columns: Sequence[str] = ()) -> Iterator[Paired]:
    """Every (model, benchmark, scorer) of a scores table, paired by item."""
    import pandas as pd

    frame = scores.to_pandas()
    for (model, benchmark, scorer), rows in frame.groupby(["model", "benchmark", "scorer"], sort=False):
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
        groups = first[["bias_type", "direction", "target"]].rename_axis("item").reset_index()
        for column in extra_columns:
            groups[column] = _extra(scores, benchmark, ids, column)
        yield Paired(model, benchmark, scorer, values, reasons, groups)


def check_columns(items: pd.DataFrame, benchmark: str, columns: Sequence[str]) -> None:
    """Refuses to group by a column that the items do not have."""
    for column in columns:
        if column not in ("bias_type", "direction", "target", "all"):
            _extra(Scores(items, items), benchmark, items["item"], column)


def columns_for(items: pd.DataFrame, benchmarks: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Those of the columns that the items of all these benchmarks have."""

    def fits(column: str) -> bool:
        try:
            for benchmark in benchmarks:
                check_columns(items[items["benchmark"] == benchmark], benchmark, [column])
        except TiltmeterError:
            return False
        return True

    return [column for column in columns if fits(column)]


def _extra(scores: Scores, benchmark: str, ids: Any, column: str) -> list[Any]:
    """A column of the user's own, kept with the items."""
    import json

    items = scores.items[scores.items["benchmark"] == benchmark].set_index("item")
    if column in items:
        return [None if value is None else str(value) for value in items.loc[ids, column]]
    found = [json.loads(text).get(column) for text in items.loc[ids, "extra"]]
    if all(value is None for value in found):
        known = sorted({"bias_type", "direction", "target"} | {k for text in items["extra"][:50] for k in json.loads(text)})
        raise TiltmeterError(f"Items of {benchmark} have no column '{column}' to group by. Columns: {', '.join(known)}.")
    return [None if value is None else str(value) for value in found]
