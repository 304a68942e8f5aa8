"""The best match of each group in each sentence, as arrays: what measures of slots read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.derived import kept_with_answers
from tiltmeter.families.kit.matching import common_places

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
OWN = frozenset({"own_probability", "rival_probability", "about"})
"""Inputs of measures over whom a sentence is about: the best match of that group, of all others, and a code of the group."""
CANDIDATES = "candidates"
READS = frozenset({"probability", "rank", "other_probability", "other_rank", "k"}) | OWN
"""Inputs of measures of slots: a group's best match per sentence (NaN where there is none), another group's, and k."""


@dataclass(frozen=True)
class Fills:
    """The best matches of one model on one benchmark: group → an array over sentences. `reason`: why not filled, or None."""

    model: str
    benchmark: str
    k: int
    among: str
    probability: dict[str, Floats]
    rank: dict[str, Floats]
    reason: NDArray[np.object_]
    groups: pd.DataFrame

    scorer = "slots"

    def __len__(self) -> int:
        return len(self.reason)

    @property
    def items(self) -> NDArray[np.object_]:
        """The ids of the sentences."""
        return np.asarray(self.groups["item"], dtype=object)

    def take(self, index: NDArray[Any]) -> Fills:
        """Some of the sentences, by position or mask."""
        probability, rank = (
            {group: values[index] for group, values in of_group.items()} for of_group in (self.probability, self.rank)
        )
        groups = self.groups[index] if index.dtype == bool else self.groups.iloc[index]
        return replace(
            self, probability=probability, rank=rank, reason=self.reason[index], groups=groups.reset_index(drop=True)
        )

    def about_a_group(self) -> Fills:
        """The sentences that say which of the groups they are about."""
        return self.take(self.groups["target"].isin(list(self.probability)).to_numpy())

    def own_columns(self) -> dict[str, NDArray[Any]]:
        """Columns that measures read over whom each sentence is about. Every sentence must say it."""
        names = list(self.probability)
        about = np.array([names.index(name) for name in self.groups["target"]], dtype=np.int64)
        all_of = np.array([self.probability[name] for name in names])
        is_own = np.arange(len(names))[:, None] == about
        own = np.where(is_own, all_of, np.nan)
        rival = np.where(is_own, np.nan, all_of)
        return {"own_probability": _largest(own), "rival_probability": _largest(rival), "about": about}

    @cached_property
    def filled(self) -> Fills:
        """The sentences that could be filled."""
        return self.take(np.array([reason is None for reason in self.reason], dtype=bool))

    @cached_property
    def _codes(self) -> dict[str, NDArray[np.int64]]:
        return {}

    def codes(self, column: str) -> NDArray[np.int64]:
        """Number the values of a column of the sentences, in the order of their names."""
        import pandas as pd

        if column not in self._codes:
            self._codes[column] = np.asarray(pd.factorize(self.groups[column].astype(str), sort=True)[0], dtype=np.int64)
        return self._codes[column]

    def columns(self, group: str, other: str | None = None) -> dict[str, Floats]:
        """Columns that measures read about one group, or about two."""
        columns = {"probability": self.probability[group], "rank": self.rank[group]}
        if other is None:
            return columns
        return columns | {"other_probability": self.probability[other], "other_rank": self.rank[other]}


@kept_with_answers
def fills_of(answers: Answers, extra_columns: Sequence[str], _clusters: bool) -> Iterator[Fills]:
    """Every model and benchmark of a table of slots."""
    import pandas as pd

    for (model, benchmark), rows in answers.table.groupby(["model", "benchmark"], sort=False):
        # In the order of their ids: what is drawn must not depend on the order of rows.
        first = rows.drop_duplicates("item").sort_values("item", kind="stable", ignore_index=True)
        place = pd.Index(first["item"])
        best = best_matches(rows)
        probability, rank = {}, {}
        for group in dict.fromkeys(rows["group"]):
            of_group = best[best["group"] == group]
            at = place.get_indexer(of_group["item"])
            probability[group], rank[group] = (np.full(len(first), np.nan) for _ in range(2))
            probability[group][at], rank[group][at] = of_group["probability"], of_group["rank"]
        ranked = set(rows[rows["rank"] > 0]["item"])
        pairs = zip(first["item"], first["reason"], strict=True)
        reason = np.array([None if item in ranked else str(why) for item, why in pairs], dtype=object)
        groups = first[["item", *GROUP_COLUMNS]].copy()
        items = answers.items[answers.items["benchmark"] == benchmark]
        for column in extra_columns:
            if column not in (*GROUP_COLUMNS, "all"):
                groups[column] = group_column(items, groups["item"], column)
        among = str(next(iter(rows["among"].dropna()), "vocabulary"))
        yield Fills(str(model), str(benchmark), int(rows["top_k"].iloc[0]), among, probability, rank, reason, groups)


def aligned(ours: Fills, theirs: Fills) -> tuple[Fills, Fills]:
    """Both on the sentences that both models could fill, in the order of the first."""
    here, there = common_places(ours.filled.items, theirs.filled.items)
    return ours.filled.take(here), theirs.filled.take(there)


def _largest(values: Floats) -> Floats:
    """The largest value of each column; NaN where there is none."""
    return np.asarray(np.where(np.isnan(values).all(axis=0), np.nan, np.fmax.reduce(values, axis=0)), dtype=np.float64)


def best_matches(frame: pd.DataFrame) -> pd.DataFrame:
    """The best-ranked matching prediction of every sentence and group that has one (Doughman et al., 2023, section 6.1)."""
    return _best(frame[frame["matched"]])


def best_terms(frame: pd.DataFrame) -> pd.DataFrame:
    """The best-ranked term of one token, without the limit of the top k."""
    return _best(frame[(frame["rank"] > 0) & ((frame["pieces"] == 1) | (frame["among"] == CANDIDATES))])


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    ordered = rows.sort_values(["rank", "probability"], ascending=[True, False], kind="stable")
    return ordered.drop_duplicates(["model", "benchmark", "item", "group"]).sort_index()
