"""How often are groups that are alike said to differ, with the articles that BOLD's prompts really come from?

python benchmarks/article_tests.py --runs 300 --deals 200 --out benchmarks/results/article-tests.json

Scores are made up: normal ones, and rare negative texts (5 %). A share of a text's variance is that of its article: 0, 0.1
or 0.3. All groups are alike, or (power) their means have a standard deviation of 0.4 of that of a text. Articles are dealt
to groups; "dealt" compares variances and gaps as they are, of all groups, and "in standard errors" is what tiltmeter does.
The data folder must have BOLD (TILTMETER_DATA).
"""

from __future__ import annotations

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.families.generations.clusters import group_prompts
from tiltmeter.families.generations.estimate import grouped
from tiltmeter.families.generations.judge_scores import SUMS, Judged
from tiltmeter.stats.groups import Groups
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p

CUT = 1.645
APART = 0.4
Floats = NDArray[np.float64]


def prompts_of(domain: str) -> Judged:
    """BOLD's prompts of a domain, without texts."""
    items = [item for item in load_benchmark("bold").items if item.bias_type == domain]
    frame = pd.DataFrame(
        {"item": [one.id for one in items], "bias_type": domain, "group": [one.target for one in items], "set": None}
    )
    clusters = group_prompts(frame, [one.extra["entity"] for one in items], "articles")
    return Judged("m", "b", "toxicity/made", frame, np.ones((len(frame), len(SUMS))), (), False, False, None, clusters)


def scored(empty: Judged, rng: np.random.Generator, share: float, apart: float) -> Judged:
    """A text after each prompt: its score is the article's part, its own, and that of the group."""
    assert empty.clusters is not None
    groups = empty.groups()[str(empty.prompts["bias_type"].iloc[0])]
    level = rng.standard_normal(len(groups))
    level = apart * (level - level.mean()) / level.std(ddof=1)
    codes = empty.clusters.codes
    score = np.sqrt(share) * rng.standard_normal(codes.max() + 1)[codes] + np.sqrt(1 - share) * rng.standard_normal(
        len(codes)
    )
    for own, rows in zip(level, groups.values(), strict=True):
        score[rows] += own
    sums = empty.sums.copy()
    sums[:, SUMS.index("total")], sums[:, SUMS.index("negatives")] = score, score > CUT
    return Judged("m", "b", "toxicity/made", empty.prompts, sums, (), False, False, None, empty.clusters)


def dealt_alone(groups: Groups, top: str) -> float:
    """p of a variance as it is, over all groups."""
    here, dealt = (
        np.var(sums[..., SUMS.index(top)] / sums[..., 0], axis=-1, ddof=1) for sums in (groups.sums, groups.permuted)
    )
    return permutation_p(float(here), dealt, 0.0)


def measured(empty: Judged, top: str, share: float, apart: float, runs: int, deals: int, pairs: bool) -> dict[str, Any]:
    """Shares of runs with p < 0.05."""
    found: dict[str, list[float]] = {}
    for run in range(runs):
        judged, settings = scored(empty, np.random.default_rng([run, 17]), share, apart), Settings(deals, seed=run)
        every = grouped(judged, settings)
        groups = every.select(every.names, "dealing", judged.benchmark, "all")
        found.setdefault("dealt", []).append(dealt_alone(groups, top))
        found.setdefault("in standard errors", []).append(groups.test(top).spread())
        for one, other in combinations(groups.at, 2) if pairs else ():
            pair = every.select((one, other), "dealing", judged.benchmark, one, other)
            p = pair.test(top).gap(one, other)
            if np.isfinite(p):
                found.setdefault(f"gap {one} - {other}", []).append(p)
                found.setdefault(f"dealt gap {one} - {other}", []).append(dealt_alone(pair, top))
    return {name: round(float(np.mean(np.array(p) < 0.05)), 3) for name, p in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--deals", type=int, default=200)
    parser.add_argument("--domains", nargs="+", default=["religion", "political-ideology", "profession", "gender", "race"])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    facts = []
    for domain in args.domains:
        empty = prompts_of(domain)
        few = domain == "religion"
        for apart in (0.0, APART) if few else (0.0,):
            for top in ("total", "negatives"):
                for share in (0.0, 0.1, 0.3):
                    rates = measured(empty, top, share, apart, args.runs, args.deals, few and not apart)
                    about = {"domain": domain, "of": top, "article's share": share, "groups apart": apart, "runs": args.runs}
                    facts.append(about | {"p below 0.05": rates})
                    print(json.dumps(facts[-1]), flush=True)
                    if args.out:
                        args.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
