"""Sums of one judge's scores of one model's texts, prompt by prompt: samples of one prompt are not independent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.families.generations.clusters import group_prompts
from tiltmeter.families.generations.judging import REFUSAL_SCORER, judges_and_temperatures
from tiltmeter.families.generations.refusals import refusal_rows
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.clusters import clusters_of
from tiltmeter.families.kit.derived import kept_with_answers
from tiltmeter.judges.kit.error_rates import errors_text
from tiltmeter.stats.estimates import Details
from tiltmeter.stats.groups import Clusters, Rows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SUMS = ("judged", "total", "negatives", "positives", "largest", "answered", "worst")
"""Columns of a prompt: texts judged, the sum of their scores, how many are negative and positive, the worst score, whether
there is any, and whether any is negative."""
GAPS = ("other_total", "other_judged", "other_negatives")
AGREEMENT = ("both", "first_alone", "second_alone", "neither")
READS = frozenset({*SUMS, *GAPS, *AGREEMENT, "hits", "alarms", "group_means", "group_shares"})


@dataclass(frozen=True)
class Judged:
    """`sums` has a row per prompt; `prompts` says which prompt, of which domain, group and set.

    `why` are the reasons of texts that were not judged, with the row of their prompt. `polar`: a high score is good, and
    texts can be positive. `clusters`: which prompts are no independent evidence; None where all are. `judge`, `notion`
    and `temperature`: who judged what, and how the texts were sampled; `scorer` names them for people.
    """

    model: str
    benchmark: str
    scorer: str
    prompts: pd.DataFrame
    sums: Floats
    why: tuple[tuple[int, str], ...]
    polar: bool
    several: bool
    errors: Mapping[str, Any] | None = None
    clusters: Clusters | None = None
    judge: str = ""
    notion: str = ""
    temperature: float = 1.0

    @property
    def details(self) -> Details:
        """Facts of every estimate by this judge."""
        known = {"judge": self.judge, "notion": self.notion, "judge_errors": errors_text(self.errors)}
        return {name: text for name, text in known.items() if text} | {"temperature": self.temperature}

    def take(self, rows: Ints) -> Judged:
        """Some prompts, in this order."""
        place = {int(row): n for n, row in enumerate(rows)}
        why = tuple((place[row], reason) for row, reason in self.why if row in place)
        prompts, clusters = self.prompts.iloc[rows].reset_index(drop=True), self.clusters
        return replace(self, prompts=prompts, sums=self.sums[rows], why=why, clusters=clusters and clusters.take(rows))

    @cached_property
    def rows(self) -> Rows:
        """The sums of prompts, and the clusters in which they are drawn."""
        return Rows(self.sums, SUMS, ("generations", self.benchmark), self.clusters)

    def reasons(self, rows: Ints) -> Counter[str]:
        """Count the texts of these prompts that were not judged, by reason."""
        wanted = set(map(int, rows))
        return Counter(reason for row, reason in self.why if row in wanted)

    def groups(self) -> dict[str, dict[str, Ints]]:
        """Domain → group → rows."""
        rows_of: dict[str, dict[str, Ints]] = {}
        for (domain, group), rows in self.prompts.groupby(["bias_type", "group"], sort=False).indices.items():
            rows_of.setdefault(str(domain), {})[str(group)] = np.asarray(rows, dtype=np.int64)
        return rows_of


@kept_with_answers
def judged_of(answers: Answers, by: Sequence[str], clusters: bool) -> Iterator[Judged]:
    """One for every model, benchmark and judge, and for refusals; without clusters as if all prompts were independent."""
    judgements, judges = judgements_of(answers), judges_and_temperatures(answers)
    for (model, benchmark, scorer), rows in judgements.groupby(["model", "benchmark", "scorer"], sort=False):
        items = answers.items[answers.items["benchmark"] == benchmark]
        judge, temperature = judges.get(str(scorer), (str(scorer), 1.0))
        facts = _judge_facts(answers, str(model), str(benchmark), judge)
        prompts = _prompts(items, rows["item"].unique(), by)
        judged = _judged((str(model), str(benchmark), str(scorer)), rows, prompts, facts)
        notion = REFUSAL_SCORER if judge == REFUSAL_SCORER else str(facts.get("notion", ""))
        judged = replace(judged, judge=judge, notion=notion, temperature=temperature)
        ours = items.set_index("item").loc[prompts["item"]]
        yield replace(judged, clusters=group_prompts(prompts, *clusters_of(answers, ours)) if clusters else None)


def judgements_of(answers: Answers) -> pd.DataFrame:
    """Return what judges said, and what was refused where anything was."""
    import pandas as pd

    refused = refusal_rows(answers.tables["generations"])
    judgements = answers.tables["judgements"]
    return pd.concat([judgements, refused], ignore_index=True) if len(refused) else judgements


def _prompts(items: pd.DataFrame, ids: Any, by: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    ours = items.set_index("item").loc[ids]
    columns: dict[str, Any] = {"item": list(ids), "bias_type": list(ours["bias_type"])}
    columns["group"] = _group_names(list(ours["bias_type"]), list(ours["target"]))
    columns["set"] = _sets(items, ids)
    for column in by:
        if column not in ("all", "bias_type", "direction", "target"):
            columns[column] = group_column(items, ids, column)
    return pd.DataFrame(columns)


def _group_names(domains: Sequence[str], groups: Sequence[str]) -> list[str]:
    """A group that is there in two domains goes by both names."""
    homes: dict[str, set[str]] = {}
    for domain, group in zip(domains, groups, strict=True):
        homes.setdefault(group, set()).add(domain)
    return [
        f"{group} ({domain})" if len(homes[group]) > 1 else str(group) for domain, group in zip(domains, groups, strict=True)
    ]


def _sets(items: pd.DataFrame, ids: Any) -> list[str | None]:
    import json

    extra = items.set_index("item").loc[ids, "extra"]
    return [json.loads(text).get("set") if '"set"' in text else None for text in extra]


def _judged(place: tuple[str, str, str], rows: pd.DataFrame, prompts: pd.DataFrame, facts: Mapping[str, Any]) -> Judged:
    code = {item: n for n, item in enumerate(prompts["item"])}
    where = rows["item"].map(code).to_numpy(dtype=np.int64)
    score, negative, positive = (rows[name].to_numpy(dtype=np.float64) for name in ("score", "negative", "positive"))
    there = ~np.isnan(score)
    polar = bool(facts.get("polar", np.isfinite(positive).any()))
    n = len(prompts)

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(where[there], np.nan_to_num(values[there]), n), dtype=np.float64)

    bad = -score if polar else score
    worst_score = np.full(n, -np.inf)
    np.maximum.at(worst_score, where[there], bad[there])
    judged = summed(np.ones(len(score)))
    answered = (judged > 0).astype(np.float64)
    largest = np.where(judged > 0, -worst_score if polar else worst_score, 0.0)
    negatives = summed(negative)
    columns = [judged, summed(score), negatives, summed(positive), largest, answered, (negatives > 0).astype(np.float64)]
    why = tuple(zip(where[~there].tolist(), map(str, rows["reason"].to_numpy()[~there]), strict=True))
    several = bool(np.bincount(where, minlength=n).max(initial=0) > 1)
    return Judged(*place, prompts, np.stack(columns, axis=1), why, polar, several, facts.get("errors"))


def _judge_facts(answers: Answers, model: str, benchmark: str, judge: str) -> dict[str, Any]:
    recorded = (manifest.get("judges", {}) for manifest in answers.manifests_of(model, benchmark))
    facts: dict[str, Any] | None = next((judges[judge] for judges in recorded if judge in judges), None)
    if facts is None:
        return {}
    return facts | {"polar": "positive" in facts.get("cuts", {}) or facts["notion"] in ("sentiment", "regard")}


def agreement(first: Answers, model: str, benchmark: str, scorers: tuple[str, str]) -> tuple[pd.DataFrame, Floats]:
    """Per prompt, how many texts both judges, one alone, or neither calls negative."""
    table = first.tables["judgements"]
    ours = table[(table["model"] == model) & (table["benchmark"] == benchmark)]
    one, other = (ours[ours["scorer"] == name].set_index(["item", "sample"])["negative"] for name in scorers)
    joined = one.to_frame("one").join(other.rename("other"), how="inner").dropna()
    a, b = joined["one"] > 0, joined["other"] > 0
    counts = joined.assign(both=a & b, first_alone=a & ~b, second_alone=b & ~a, neither=~a & ~b)
    sums = counts[list(AGREEMENT)].groupby(level="item", sort=False).sum()
    return sums, sums.to_numpy(dtype=np.float64)
