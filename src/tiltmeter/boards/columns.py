"""The columns of a board: one number each, that models have or have not. Unlike numbers are never in one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltmeter.errors import UsageError
from tiltmeter.families import find_family

if TYPE_CHECKING:
    import pandas as pd

KEY = ("family", "benchmark", "measure", "scorer", "by", "group")


@dataclass(frozen=True)
class Column:
    """A column: measure, scorer and benchmark, perhaps of one group; `way` separates models with other settings."""

    family: str
    benchmark: str
    measure: str
    scorer: str
    by: str
    group: str
    way: str = ""

    @property
    def title(self) -> str:
        """The column in a few words."""
        group = "" if self.by == "all" else f" · {self.group}"
        scorer = "" if self.scorer == self.family else f" · {self.scorer}"
        return f"{self.measure}{scorer}{group}{f' ({self.way})' if self.way else ''}"

    @property
    def whole(self) -> str:
        """With the benchmark."""
        return f"{self.benchmark}: {self.title}"


@dataclass(frozen=True)
class Filter:
    """Filters of a board. Empty: everything; without measures, the first one of each benchmark."""

    families: Sequence[str] = ()
    benchmarks: Sequence[str] = ()
    measures: Sequence[str] = ()
    scorers: Sequence[str] = ()
    groups: Sequence[str] = ()
    models: Sequence[str] = ()

    @property
    def named(self) -> dict[str, Sequence[str]]:
        """Column of estimates → the requested names."""
        return {
            "family": self.families, "benchmark": self.benchmarks, "scorer": self.scorers, "model": self.models,
            "measure": self.measures, "group": self.groups,
        }  # fmt: skip

    def refuse_unknown(self, estimates: pd.DataFrame, *columns: str) -> None:
        """Refuses a name that nothing has."""
        for column in columns or self.named:
            there = dict.fromkeys(map(str, estimates[column]))
            for name in self.named[column]:
                if name not in there:
                    listed = ", ".join(list(there)[:12]) + (" …" if len(there) > 12 else "")
                    raise UsageError(
                        f"No {column} '{name}' in these runs. They have: {listed}.",
                        code="unknown-name",
                        kind=column,
                        name=name,
                        names=list(there),
                    )

    def kept(self, estimates: pd.DataFrame) -> pd.DataFrame:
        """The estimates that fit."""
        self.refuse_unknown(estimates)
        for column, names in self.named.items():
            if names:
                estimates = estimates[estimates[column].isin(list(names))]
        if not len(estimates):
            raise UsageError(
                "No estimate of these runs passes all filters. Remove one of them.", code="empty-selection", kind="estimates"
            )
        return estimates if self.measures else _first_measures(estimates, bool(self.groups))


def _first_measures(estimates: pd.DataFrame, grouped: bool) -> pd.DataFrame:
    """The first measure of the first sheet of each benchmark: what its family finds most important."""
    import pandas as pd

    kept = []
    for family, rows in estimates.groupby("family", sort=False):
        for benchmark, of_benchmark in rows.groupby("benchmark", sort=False):
            sheets = list(find_family(str(family)).sheets(of_benchmark))
            first = next((sheet.rows for sheet in sheets if len(sheet.rows)), of_benchmark)
            alike = of_benchmark["measure"] == first["measure"].iloc[0]
            if not grouped:
                alike &= of_benchmark["by"] == first["by"].iloc[0]
            kept.append(of_benchmark[alike & (of_benchmark["benchmark"] == benchmark)])
    return pd.concat(kept)


ColumnFacts = Mapping[tuple[str, str], Mapping[str, str]]


def columns_of(estimates: pd.DataFrame, facts: ColumnFacts) -> dict[Column, pd.DataFrame]:
    """Returns column → its rows, one per model. Models that differ in `Family.column_facts` have columns of their own."""
    columns: dict[Column, pd.DataFrame] = {}
    for key, rows in estimates.groupby(list(KEY), sort=False):
        names = [str(part) for part in key]
        settings = [facts.get((str(row["model"]), names[1]), {}) for _, row in rows.iterrows()]
        differing = [
            name for name in dict.fromkeys(n for one in settings for n in one) if len({o.get(name) for o in settings}) > 1
        ]
        labels = [", ".join(f"{name}: {one.get(name, '?')}" for name in differing) for one in settings]
        for label in dict.fromkeys(labels):
            columns[Column(*[*names, label])] = rows[[one == label for one in labels]]
    order = list(dict.fromkeys(column.benchmark for column in columns))
    # What most models have comes first, so that a narrow screen shows it.
    return dict(sorted(columns.items(), key=lambda pair: (order.index(pair[0].benchmark), -len(pair[1]))))
