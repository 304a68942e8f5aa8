"""The worst groups of a benchmark: those that a mean over all items hides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import Statement, p_text, percent_text, range_text
from tiltmeter.families.kit.story import certain, is_percentage, value_text
from tiltmeter.stats.direction import best_of
from tiltmeter.stats.intervals import FEWEST

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 3
NOUNS = {"bias_type": ("bias type", "bias types")}
WORST = (
    "Furthest {nouns} from neutral: {listed}. {count} of {of} {noun} {differs} significantly. Each interval is for one of "
    "them alone; p is corrected for all tests."
)


@dataclass(frozen=True)
class WorstGroups:
    """The groups furthest from neutral, significant ones first, out of `tested` groups.

    `rows` are rows of the estimates.
    """

    rows: tuple[Any, ...]
    tested: int
    significant: int

    @property
    def sentence(self) -> str:
        """The groups in one sentence; empty where nothing was tested by group."""
        if not self.rows:
            return ""
        differs = [name for name in ("measure", "scorer") if len({row[name] for row in self.rows}) > 1]
        one, many = NOUNS.get(str(self.rows[0]["by"]), ("group", "groups"))
        return Statement(
            WORST, "worst-groups", listed="; ".join(f"{_name(row, differs)} {_described(row)}" for row in self.rows),
            nouns=many, noun=one if self.tested == 1 else many, significant=self.significant, of=self.tested,
            count=self.significant or "None", differs="differs" if self.significant <= 1 else "differ",
        )  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        """The groups as plain values, for files."""
        names = ("scorer", "measure", "by", "group")
        numbers = ("value", "low", "high", "neutral")
        return [
            {name: str(row[name]) for name in names}
            | {name: None if np.isnan(row[name]) else float(row[name]) for name in numbers}
            | {"n": int(row["n"]), "p_corrected": float(_p(row)), "is_significant": bool(certain(row))}
            for row in self.rows
        ]


def worst_groups(rows: pd.DataFrame, head: Any = None) -> WorstGroups:
    """Find the worst groups of one model on one benchmark.

    Args:
        rows: Its estimates.
        head: The row of its headline. The groups are read by the same scorer and measure; without it, or where that has no
            groups, by every measure of bias.
    """
    groups = rows[(rows["by"] != "all") & rows["value"].notna() & rows["neutral"].notna() & rows["p"].notna()]
    alike = groups.iloc[:0] if head is None else _alike(groups, head)
    groups = alike if len(alike) else groups[np.array([_is_bias(name) for name in groups["measure"]], dtype=bool)]
    return worst_of(groups.to_dict("records"))


def worst_of(tests: Sequence[Mapping[str, Any]]) -> WorstGroups:
    """Find the worst of some tested groups that are not tiny; `p_holm` is corrected for all of them."""
    ordered = sorted((row for row in tests if row["n"] >= FEWEST), key=_badness, reverse=True)
    return WorstGroups(tuple(ordered[:SHOWN]), len(tests), sum(map(certain, tests)))


def _alike(groups: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The groups of the first column by the headline's metric; contrasts of two groups have a neutral point of their own."""
    own = groups[(groups["scorer"] == head["scorer"]) & (groups["measure"] == head["measure"])]
    own = own[own["neutral"] == head["neutral"]]
    return own[own["by"] == own["by"].iloc[0]] if len(own) else own


def _badness(row: Any) -> tuple[bool, float]:
    """Significant groups first, then by distance from neutral in units of the interval where measures may differ."""
    return certain(row), abs(row["value"] - row["neutral"])


def _is_bias(measure: str) -> bool:
    if measure not in catalog.names("measures"):
        return False
    entry = catalog.find("measures", measure)
    return entry.spec.role == "bias" and not np.isnan(best_of(entry))


def _p(row: Any) -> float:
    return float(row["p"] if np.isnan(row["p_holm"]) else row["p_holm"])


def _described(row: Any) -> str:
    """A value with its unit, its interval, its direction and its p."""
    text = value_text(row)
    if is_percentage(row["measure"]):
        text = f"{percent_text(row['value'])} {range_text(row['low'], row['high'])}".rstrip()
    return f"{text}, {_direction(row)} (n = {row['n']:,}, {p_text(_p(row))})"


def _direction(row: Any) -> str:
    if row["value"] == row["neutral"]:
        return "neutral"
    above = row["value"] > row["neutral"]
    if row["measure"] in catalog.names("measures") and catalog.find("measures", row["measure"]).spec.leans:
        return "towards the stereotypes" if above else "away from the stereotypes"
    return f"{'above' if above else 'below'} {row['neutral']:g}"


def _name(row: Any, differs: Sequence[str]) -> str:
    """The group, with the measure and the scorer where the groups shown have several."""
    return f"{row['group']} ({' by '.join(str(row[name]) for name in differs)})" if differs else str(row["group"])
