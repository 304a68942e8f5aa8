"""One model's answers to one benchmark, as arrays over texts: labels, groups, clusters, probabilities."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks.kit.groups import DOMAIN_OF
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.clusters import clusters_of
from tiltmeter.families.kit.derived import kept_with_answers

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Facts:
    """`score`: seeds × texts. `members`: group → which texts name it. `clusters`: texts of one number are one draw.

    `scorer`: how probabilities are read.
    """

    model: str
    benchmark: str
    items: tuple[str, ...]
    truth: Bools
    score: Floats
    members: Mapping[str, Bools]
    clusters: Ints
    swaps: pd.DataFrame | None
    columns: Mapping[str, Sequence[Any]]
    reasons: Mapping[str, int]
    lost: Sequence[Mapping[str, Any]] = ()
    """The texts without a probability: the groups that each names, and its values of the columns."""
    scorer: str = ""

    def take(self, rows: Ints) -> Facts:
        """Some of the texts."""
        return replace(
            self,
            items=tuple(self.items[n] for n in rows),
            truth=self.truth[rows],
            score=self.score[:, rows],
            members={group: member[rows] for group, member in self.members.items()},
            clusters=np.unique(self.clusters[rows], return_inverse=True)[1].astype(np.int64),
            columns={name: [values[n] for n in rows] for name, values in self.columns.items()},
        )

    def n_missing(self, by: str, group: str) -> int:
        """Count the texts of a group without a probability; all of them where membership is not known."""
        if by == "group":
            return sum(group in text["group"] for text in self.lost)
        if by == "domain":
            return sum(not text["group"].isdisjoint(self.domains.get(group, ())) for text in self.lost)
        return sum(str(text[by]) == group if by in self.columns else True for text in self.lost)

    @property
    def clustered(self) -> bool:
        """Return whether some texts belong together."""
        return len(np.unique(self.clusters)) < len(self.clusters)

    @property
    def domains(self) -> dict[str, list[str]]:
        """The groups of each domain of the paper that texts name."""
        groups: dict[str, list[str]] = {}
        for group, member in self.members.items():
            if group in DOMAIN_OF and member.any():
                groups.setdefault(DOMAIN_OF[group], []).append(group)
        return groups


@kept_with_answers
def facts_of(answers: Answers, extra: Sequence[str], clustered: bool) -> Iterator[Facts]:
    """Every model and benchmark. A text without a probability by some seed leaves, and its reason is counted.

    Unless `clustered`, as if all texts were independent.
    """
    swaps = answers.get("swaps")
    for (model, benchmark), rows in answers.table.groupby(["model", "benchmark"], sort=False):
        wide = rows.pivot(index="item", columns="seed", values="probability")
        wide = wide.loc[list(dict.fromkeys(rows["item"]))]
        there = wide.notna().all(axis=1).to_numpy()
        lacking = rows[rows["probability"].isna()].drop_duplicates("item")
        items = answers.items[answers.items["benchmark"] == benchmark].set_index("item").loc[wide.index]
        said = [json.loads(text) for text in items["extra"]]
        named = [set(one["groups"]) for one in said]
        found = clusters_of(answers, items)[0] if clustered else [None] * len(items)
        clusters = [str(item if cluster is None else cluster) for cluster, item in zip(found, items.index, strict=True)]
        columns = {name: group_column(items.reset_index(), items.index, name) for name in extra}
        ours = swaps[(swaps["model"] == model) & (swaps["benchmark"] == benchmark)] if swaps is not None else None
        facts = Facts(
            str(model),
            str(benchmark),
            tuple(map(str, wide.index)),
            np.array([bool(one["toxic"]) for one in said], dtype=bool),
            wide.to_numpy(dtype=np.float64).T,
            {group: np.array([group in one for one in named]) for group in _groups(answers, str(benchmark), named)},
            np.unique(clusters, return_inverse=True)[1].astype(np.int64),
            ours,
            columns,
            Counter(map(str, lacking["reason"])),
            [{"group": named[n], **{name: values[n] for name, values in columns.items()}} for n in np.flatnonzero(~there)],
        )
        yield facts.take(np.flatnonzero(there))


def _groups(answers: Answers, benchmark: str, named: Sequence[set[str]]) -> list[str]:
    """The groups of the paper in its order, as far as they are expected or named, then the others, most named first."""
    expected = {
        group
        for manifest in answers.manifests
        if manifest.get("benchmark", {}).get("name") == benchmark
        for group in manifest["benchmark"].get("groups", ())
    }
    counts = Counter(group for one in named for group in one)
    paper = [group for group in DOMAIN_OF if group in expected or group in counts]
    return paper + [group for group, _ in counts.most_common() if group not in DOMAIN_OF]
