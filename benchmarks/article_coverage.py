"""Do intervals and tests of generations hold where prompts come from articles? Simulated runs with known truth.

python benchmarks/article_coverage.py --runs 200 --resamples 300 --out benchmarks/results/article-coverage.json

Three groups of 40, 80 and 200 prompts, two samples each. Prompts come from articles of very unequal size, as in BOLD. A
share of a text's variance is that of its article: 0, 0.1 or 0.3. Some articles have prompts of two groups (5 %), or all
articles have prompts of all groups. All groups are alike. Every run is estimated twice: with articles drawn and dealt, and
with prompts as if they were independent. Besides, where 5 % are shared: the difference of two models that are alike but for
effects of their own on articles and prompts, and the variance of groups that do differ. (With BOLD's own articles, whose
sizes are unlike between groups: benchmarks/article_tests.py.)
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tiltmeter
from tiltmeter import Answers

SIZES = {"few": 40, "some": 80, "many": 200}
SAMPLES = 2
CUT = 1.0
APART = {"few": 0.0, "some": 0.3, "many": 0.6}
MEASURES = ["mean_score", "negative_share", "score_gap", "score_variance"]


def articles_of(rng: np.random.Generator, shared: float) -> pd.DataFrame:
    """A row per prompt: its group and article. `shared`: the share of articles that two groups have; 1: all have all."""
    rows: list[tuple[str, str]] = []
    if shared == 1:
        sizes = np.ceil(rng.lognormal(0.5, 1.0, 30)).astype(int)
        return pd.DataFrame(
            [(group, f"a{n}") for n, size in enumerate(sizes) for group in SIZES for _ in range(size)],
            columns=["target", "article"],
        )
    for group, prompts in SIZES.items():
        sizes = np.ceil(rng.lognormal(0.5, 1.2, prompts)).astype(int)
        rows += [(group, f"{group}/{number}") for number in np.repeat(np.arange(prompts), sizes)[:prompts]]
    frame = pd.DataFrame(rows, columns=["target", "article"])
    alike = {
        name: f"some/{n}" for n, name in enumerate(frame["article"].unique()) if rng.random() < 2 * shared and "many" in name
    }
    return frame.assign(article=frame["article"].replace(alike))


def simulated(rng: np.random.Generator, share: float, shared: float) -> Answers:
    """One run: a score is the article's own, the prompt's own and the text's own part."""
    prompts = articles_of(rng, shared)
    code = prompts["article"].astype("category").cat.codes.to_numpy()
    own = np.sqrt(share) * rng.standard_normal(code.max() + 1)[code]
    own = own + np.sqrt((1 - share) / 2) * rng.standard_normal(len(code))
    scores = own[:, None] + np.sqrt((1 - share) / 2) * rng.standard_normal((len(code), SAMPLES))
    frame = prompts.assign(item=[str(n) for n in range(len(prompts))]).loc[np.repeat(np.arange(len(code)), SAMPLES)]
    frame = frame.assign(sample=np.tile(np.arange(SAMPLES), len(code)), score=scores.ravel(), model="m", benchmark="b")
    frame = frame.assign(bias_type="d", direction=None, reason=None)
    judged = frame.assign(scorer="toxicity/made", negative=(frame["score"] >= CUT).astype(float), positive=np.nan)
    items = frame.drop_duplicates("item")[["benchmark", "item", "bias_type", "target", "article"]].assign(scored=True)
    items = items.assign(extra=[json.dumps({"cluster": name}) for name in items["article"]])
    facts = {"notion": "toxicity", "cuts": {"negative": CUT}, "errors": None}
    manifest = {"model": {"shown_as": "m"}, "benchmark": {"name": "b"}, "judges": {"toxicity/made": facts}}
    texts = frame.assign(text="x", logprob=0.0, n_tokens=1, temperature=1.0)
    return Answers("generations", {"generations": texts, "judgements": judged}, items, (manifest,))


def measured(runs: range, share: float, shared: float, resamples: int) -> dict[str, Any]:
    """How often intervals hold the truth, how wide they are, and how often alike groups are said to differ."""
    from scipy.stats import norm

    truth = {"mean_score": 0.0, "negative_share": float(norm.sf(CUT)), "score_gap": 0.0}
    found: dict[str, Any] = {}
    for clusters in (True, False):
        held, wide, seen, flagged = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        for run in runs:
            answers = simulated(np.random.default_rng([run, 11]), share, shared)
            table = tiltmeter.estimate(answers, MEASURES, resamples=resamples, seed=run, clusters=clusters)
            for row in table[table["by"].isin(["all", "group", "gap"])].to_dict("records"):
                if not np.isfinite(row["low"]):  # all prompts of a group are from one article
                    continue
                name = f"{row['measure']}, {row['group']}"
                held[name] += row["low"] <= truth[row["measure"]] <= row["high"]
                wide[name] += row["high"] - row["low"]
                seen[name] += 1
            for row in table[table["p"].notna() & (table["by"] != "gap to the domain's mean")].to_dict("records"):
                flagged[f"{row['measure']}, {row['group']}"] += row["p"] < 0.05
        found["articles" if clusters else "prompts"] = {
            "coverage": {name: round(held[name] / seen[name], 3) for name in seen},
            "width": {name: round(wide[name] / seen[name], 3) for name in seen},
            "p below 0.05": {name: round(flagged[name] / len(runs), 3) for name in flagged},
        }
    return {"runs": len(runs), "article's share of the variance": share, "shared articles": shared} | found


def with_scores(answers: Answers, scores: Any, model: str = "m") -> Answers:
    """The same texts with other scores, by a model of this name."""
    tables = {name: table.assign(model=model) for name, table in answers.tables.items()}
    tables["judgements"] = tables["judgements"].assign(score=scores)
    manifest = {**answers.manifests[0], "model": {"shown_as": model}}
    return Answers(answers.family, tables, answers.items, (manifest,))


def two_models(answers: Answers, rng: np.random.Generator, share: float) -> Answers:
    """A second model with effects of its own on articles and prompts."""
    table = answers.tables["judgements"]
    article, item = (table[name].astype("category").cat.codes.to_numpy() for name in ("article", "item"))
    own = np.sqrt(share) * rng.standard_normal(article.max() + 1)[article]
    own = own + np.sqrt((1 - share) / 2) * rng.standard_normal(item.max() + 1)[item]
    return Answers.concat([answers, with_scores(answers, table["score"].to_numpy() + own, "other")])


def compared(runs: range, share: float, shared: float, resamples: int) -> dict[str, Any]:
    """How often intervals of differences of models, and of variances of groups that differ, hold the truth."""
    truth = float(np.var(list(APART.values()), ddof=1))
    found: dict[str, Any] = {}
    for clusters in (True, False):
        held: dict[str, list[bool]] = {"differences of models": [], "variances": []}
        for run in runs:
            answers = simulated(np.random.default_rng([run, 21]), share, shared)
            table = answers.tables["judgements"]
            apart = with_scores(answers, table["score"] + table["target"].map(APART))
            settings: dict[str, Any] = {"resamples": resamples, "seed": run, "clusters": clusters}
            row = tiltmeter.estimate(apart, ["score_variance"], **settings).iloc[0]
            held["variances"] += [row["low"] <= truth <= row["high"]] if np.isfinite(row["low"]) else []
            both = two_models(answers, np.random.default_rng([run, 5]), share)
            rows = tiltmeter.compare(both, "other", "mean_score", "bias_type", **settings)
            rows = rows[(rows["by"] == "group") & rows["low"].notna()]
            held["differences of models"] += list((rows["low"] <= 0) & (rows["high"] >= 0))
        found["articles" if clusters else "prompts"] = {name: round(float(np.mean(of)), 3) for name, of in held.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    places = [(share, shared) for shared in (0.05, 1.0) for share in (0.0, 0.1, 0.3)]
    facts = []
    for share, shared in places:
        facts.append(measured(range(args.runs), share, shared, args.resamples))
        if shared < 1:
            facts[-1]["covered"] = compared(range(args.runs), share, shared, args.resamples)
        print(json.dumps(facts[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
