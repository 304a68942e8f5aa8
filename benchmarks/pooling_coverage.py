"""Partial pooling over groups: how often intervals hold the truth, and how wide they are beside the raw ones.

python benchmarks/pooling_coverage.py                              # writes benchmarks/results/pooling-coverage.json
python benchmarks/pooling_coverage.py --runs runs/a:pll runs/b:causal   # also widths on stored runs with CrowS-Pairs

Simulated groups have as many pairs as the nine bias types of CrowS-Pairs. Their true shares are drawn from a normal
distribution around 50 % or 60 % with a standard deviation of 0, 5 or 15 points. Raw intervals are exact ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from gate_releases import SIZES
from tiltmeter import estimate, load_run
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.pooling import POOLED, pool_shares
from tiltmeter.stats.significance import exact_proportion_interval

RESULTS = Path(__file__).parent / "results" / "pooling-coverage.json"
N = np.array(list(SIZES.values()))
PIECE = 500


def simulated(centre: float, spread: float, count: int) -> dict[str, Any]:
    """Simulate so many sets of groups with this between-group standard deviation, in points."""
    rng = np.random.default_rng([round(100 * centre), round(spread)])
    parts = []
    for _ in range(0, count, PIECE):
        truth = np.clip(rng.normal(centre, spread / 100, (PIECE, len(N))), 0.01, 0.99)
        wins = rng.binomial(N, truth)
        pooled = pool_shares(wins, N)
        exact = [[exact_proportion_interval(int(k), int(n), 0.95) for k, n in zip(row, N, strict=True)] for row in wins]
        low, high = np.moveaxis(np.array(exact), -1, 0) / 100
        holds = [(pooled.low <= truth) & (truth <= pooled.high), (low <= truth) & (truth <= high)]
        errors = [(pooled.value - truth) ** 2, (wins / N - truth) ** 2]
        parts.append(np.stack([*holds, pooled.high - pooled.low, high - low, *errors]))
    covered, raw_covered, width, raw_width, error, raw_error = np.concatenate(parts, axis=1)
    return {
        "centre": 100 * centre, "between_group_sd": spread, "sets": count,
        "coverage": float(covered.mean()), "raw_coverage": float(raw_covered.mean()),
        "lowest_coverage_of_a_group": float(covered.mean(axis=0).min()),
        "width": float(100 * width.mean()), "raw_width": float(100 * raw_width.mean()),
        "rmse": float(100 * np.sqrt(error.mean())), "raw_rmse": float(100 * np.sqrt(raw_error.mean())),
        "by_group": {
            name: {"n": int(n), "coverage": float(covered[:, k].mean()), "width": float(100 * width[:, k].mean()),
                   "raw_width": float(100 * raw_width[:, k].mean())}
            for k, (name, n) in enumerate(SIZES.items())
        },
    }  # fmt: skip


def stored(folder: str, scorer: str) -> list[dict[str, Any]]:
    """Return raw and pooled intervals of the bias types of every model of a run."""
    answers = [part.where(scorer=scorer) for part in load_run(folder).answers.values()]
    table = estimate(answers, ["bias_score"], "bias_type")
    rows = []
    for row in table[table["by"] == "bias_type"].to_dict("records"):
        details = details_of(row)
        ends = {name: details[name] for name in POOLED if name in details}
        rows.append({name: row[name] for name in ("model", "scorer", "group", "n", "value", "low", "high")} | ends)
    for model in dict.fromkeys(row["model"] for row in rows):
        ours = [row for row in rows if row["model"] == model]
        raw, pooled = (np.mean([row[f"{p}high"] - row[f"{p}low"] for row in ours]) for p in ("", "pooled_"))
        print(f"{model} ({scorer}): mean width {raw:.1f} raw, {pooled:.1f} pooled", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4000)
    parser.add_argument("--runs", nargs="*", default=[], help="FOLDER:SCORER")
    args = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if args.sets:
        rows = [simulated(centre, spread, args.sets) for centre in (0.5, 0.6) for spread in (0.0, 5.0, 15.0)]
        for row in rows:
            print({name: value for name, value in row.items() if name != "by_group"}, flush=True)
        known |= {"simulated": rows}
    found = [row for place in args.runs for row in stored(*place.split(":"))]
    RESULTS.write_text(json.dumps(known | ({"stored": found} if found else {}), indent=1) + "\n")


if __name__ == "__main__":
    main()
