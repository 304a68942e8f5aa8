"""Domain scores over the groups that two metrics share, from the scores of single groups (Cao et al., 2022, Section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.groups import DOMAIN_OF, group_name
from tiltmeter.benchmarks.stereoset import STAND_INS
from tiltmeter.runs.folder import read_estimates
from tiltmeter.studies.kit.ablations import changed, not_compared
from tiltmeter.studies.kit.domain_pairs import Drawing
from tiltmeter.studies.kit.domain_scores import is_domain_score, metric_names
from tiltmeter.studies.kit.paper_metrics import paper_name

if TYPE_CHECKING:
    import pandas as pd

STANDING_IN = {said.capitalize(): group for said, group in STAND_INS.items()}
ALSO = {"transgender": "gender", "Sikh": "religion"}
"""Groups that some metrics have besides those of all."""
AVERAGED = "a score is the mean over seeds of their variances, and scores of single groups are kept as means over seeds"


def group_scores(folders: Sequence[Path]) -> pd.DataFrame:
    """model, metric, per_seed, domain, group, value: what the domain scores of runs are the spreads of."""
    import pandas as pd

    rows = [row for folder in folders for row in _of_run(folder)]
    table = pd.DataFrame(rows, columns=["model", "metric", "per_seed", "domain", "group", "value"])
    return table.dropna(subset="value").drop_duplicates(["model", "metric", "group"], keep="last")


def _of_run(folder: Path) -> Iterator[dict[str, Any]]:
    table = read_estimates(folder / "estimates.csv")
    names = metric_names(table)
    spreads = table[[is_domain_score(row) for row in table.to_dict("records")]]
    spread_of = {
        (row["model"], row["benchmark"], row["scorer"], single): (names[place], measure.spec.per_seed)
        for place, row in zip(spreads.index, spreads.to_dict("records"), strict=True)
        for measure in [catalog.find("measures", row["measure"])]
        for single in measure.spec.spread_of
    }
    for row in table[table["by"] == "group"].to_dict("records"):
        metric, per_seed = spread_of.get((row["model"], row["benchmark"], row["scorer"], row["measure"]), ("", False))
        group = group_name(str(row["group"]))
        group = STANDING_IN.get(group, group)
        domain = (DOMAIN_OF | ALSO).get(group)
        if metric and domain:
            known = {"model": row["model"], "metric": metric, "per_seed": per_seed}
            yield {**known, "domain": domain, "group": group, "value": row["value"]}


def over_shared_groups(
    points: pd.DataFrame, groups: pd.DataFrame, pairs: Sequence[tuple[str, str, str]], how: Drawing
) -> Iterator[dict[str, Any]]:
    """For every pair of metrics (domain, a, b): r over the groups that both have, beside r over all groups of each.

    A pair whose groups stay what they are is left out.
    """
    averaged = set(groups.loc[groups["per_seed"].astype(bool), "metric"])
    for domain, a, b in pairs:
        wide = [_groups_of(groups, domain, metric) for metric in (a, b)]
        shared = [group for group in wide[0].columns if group in wide[1].columns]
        if len(shared) < 2:
            continue
        what = {"what": f"groups of both: {', '.join(shared)}", "domain": domain, "a": a, "b": b}
        scores = points[points["domain"] == domain].pivot(index="model", columns="metric", values="value")[[a, b]].dropna()
        found = [
            _over(shared, *known, known[1].name in averaged) for known in zip(wide, (scores[a], scores[b]), strict=True)
        ]
        over = [one for one in found if one is not None]
        if len(over) < len(found):
            yield {**what, **not_compared(len(scores), AVERAGED)}
            continue
        models = [model for model in scores.index if all(model in one.index for one in over)]
        columns = [one.loc[models].to_numpy(dtype=np.float64) for one in (scores[a], scores[b], *over)]
        if np.allclose(columns[:2], columns[2:], rtol=1e-6, atol=0):  # they share all groups as it is
            continue
        yield {**what, **changed(columns, how)}


def _over(shared: Sequence[str], groups: pd.DataFrame, score: pd.Series, per_seed: bool) -> pd.Series | None:
    """The score over these groups.

    None for fewer groups than a score has that was made for every seed: its spread is larger than that of the groups'
    means over seeds, and those are all that is known.
    """
    spread = groups.reindex(score.index).var(axis=1, ddof=1)
    if not per_seed or np.allclose(spread, score, rtol=1e-6, atol=0):  # one seed
        return groups[list(shared)].dropna().var(axis=1, ddof=1)
    return score if len(shared) == len(groups.columns) else None


def _groups_of(groups: pd.DataFrame, domain: str, metric: str) -> pd.DataFrame:
    ours = groups[(groups["domain"] == domain) & (groups["metric"] == metric)]
    return ours.pivot(index="model", columns="group", values="value").dropna(axis=1, how="all")


def groups_of(folders: Sequence[Path], points: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The table `groups`: of how many models each metric has a score of each group; – where there is none."""
    groups = group_scores(folders)
    wanted = set(points["metric"])
    named = groups.assign(metric=[name if name in wanted else paper_name(name) for name in groups["metric"]])
    scored = set(zip(points["metric"], points["domain"], strict=True))  # the paper has no regard for religions, say
    named = named[[place in scored for place in zip(named["metric"], named["domain"], strict=True)]]
    if not len(named):
        return {}
    counts = named.pivot_table(index=["domain", "group"], columns="metric", values="value", aggfunc="count", sort=False)
    shown = counts.sort_index(level="domain", sort_remaining=False).fillna(0).astype(int).astype(str).replace("0", "–")
    return {"groups": shown.rename_axis(None, axis=1).reset_index()}
