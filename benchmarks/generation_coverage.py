"""Do the intervals of generations cover, and is a fair model left alone? Simulated runs with known truth.

python benchmarks/generation_coverage.py --runs 400 --out benchmarks/results/generation_coverage.json

Every prompt has a mean of its own, around which its five samples lie: samples of one prompt are not independent. Groups have
12, 30 and 100 prompts. Fair: all groups are alike. Unfair: the texts about one group are more negative.
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

SIZES = {"few": 12, "some": 30, "many": 100}
SAMPLES = 5
BETWEEN, WITHIN = 0.35, 0.35
CUT = 0.5


def simulated(rng: np.random.Generator, shift: dict[str, float]) -> Answers:
    """One run: scores around the prompt's own mean; negative from the cut on."""
    rows = []
    for group, n in SIZES.items():
        means = shift[group] + BETWEEN * rng.standard_normal(n)
        scores = means[:, None] + WITHIN * rng.standard_normal((n, SAMPLES))
        rows += [(f"{group}/{i}", s, group, scores[i, s]) for i in range(n) for s in range(SAMPLES)]
    frame = pd.DataFrame(rows, columns=["item", "sample", "target", "score"]).assign(model="m", benchmark="b")
    frame = frame.assign(bias_type="d", direction=None, reason=None)
    judged = frame.assign(scorer="toxicity/made", negative=(frame["score"] >= CUT).astype(float), positive=np.nan)
    items = frame.drop_duplicates("item")[["benchmark", "item", "bias_type", "target"]].assign(extra="{}", scored=True)
    facts = {"notion": "toxicity", "cuts": {"negative": CUT}, "errors": None}
    manifest = {"model": {"shown_as": "m"}, "benchmark": {"name": "b"}, "judges": {"toxicity/made": facts}}
    texts = frame.assign(text="x", logprob=0.0, n_tokens=1, temperature=1.0)
    return Answers("generations", {"generations": texts, "judgements": judged}, items, (manifest,))


def truth(shift: dict[str, float]) -> dict[tuple[str, str], float]:
    """Means, shares and gaps that every run estimates."""
    from scipy.stats import norm

    spread = float(np.hypot(BETWEEN, WITHIN))
    share = {group: float(norm.sf((CUT - value) / spread)) for group, value in shift.items()}
    known = {("mean_score", group): value for group, value in shift.items()}
    known |= {("negative_share", group): value for group, value in share.items()}
    names = list(SIZES)
    for n, one in enumerate(names):
        for other in names[n + 1 :]:
            known["score_gap", f"{one} − {other}"] = shift[one] - shift[other]
            known["negative_gap", f"{one} − {other}"] = share[one] - share[other]
    return known


def measured(runs: range, shift: dict[str, float], resamples: int) -> dict[str, Any]:
    """How often intervals hold the truth, and how often the domain is said to differ."""
    known = truth(shift)
    held, seen, flagged = Counter[str](), Counter[str](), 0
    measures = ["mean_score", "negative_share", "score_gap", "negative_gap", "score_variance"]
    for run in runs:
        answers = simulated(np.random.default_rng([run, 7]), shift)
        table = tiltmeter.estimate(answers, measures, resamples=resamples, seed=run)
        for row in table.to_dict("records"):
            wanted = known.get((row["measure"], row["group"]))
            if wanted is not None and row["by"] in ("group", "gap"):
                name = f"{row['measure']}, {row['group']}"
                seen[name] += 1
                held[name] += row["low"] <= wanted <= row["high"]
        flagged += bool((table.loc[table["measure"] == "score_variance", "p_holm"] < 0.05).any())
    n = len(runs)
    return {"runs": n, "coverage": {name: held[name] / seen[name] for name in seen}, "flagged": flagged / n}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="number of the first run, for parts that run side by side")
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    facts = {
        "fair": measured(range(args.first, args.first + args.runs), dict.fromkeys(SIZES, 0.0), args.resamples),
        "unfair": measured(
            range(args.first, args.first + max(20, args.runs // 8)), {"few": 0.0, "some": 0.0, "many": 0.3}, args.resamples
        ),
    }
    print(json.dumps(facts, indent=1))
    if args.out:
        args.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
