"""How much precision, kernels and quantisation change scores and a measure, against float32 one text at a time.

python benchmarks/precision_effect.py --model plumb-clm --pairs crows_pairs_anonymized.csv --out results.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import tiltmeter

VARIANTS: dict[str, dict[str, Any]] = {
    "fp32, one text a row": {"unshared": True},
    "fp32, shared prefixes": {},
    "bf16": {"precision": "bf16"},
    "8bit (bitsandbytes)": {"quantize": "8bit"},
    "4bit (bitsandbytes, NF4)": {"quantize": "4bit"},
}


def scored(args: argparse.Namespace, options: dict[str, Any]) -> tuple[Any, Any]:
    """Scores of both sentences of each pair, and the bias score with its interval."""
    unshared = options.pop("unshared", False)
    model = tiltmeter.load_model(args.model, **options)
    if unshared:
        model._parts.unshared = "for comparison"
    bench = tiltmeter.load_benchmark(args.pairs).limit(args.limit)
    answers = tiltmeter.score(model, bench, ["causal"], cache=False)
    table = answers.to_pandas().pivot(index="item", columns="role", values="score")
    estimate = tiltmeter.estimate(answers, ["bias_score"], by="all", resamples=200)
    return table, estimate.iloc[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    results: dict[str, Any] = {"model": Path(args.model).name, "pairs": args.limit, "variants": {}}
    exact = None
    for name, options in VARIANTS.items():
        table, row = scored(args, dict(options))
        exact = table if exact is None else exact
        difference = (table - exact).to_numpy()
        flips = (table["stereo"] > table["anti"]) != (exact["stereo"] > exact["anti"])
        results["variants"][name] = {
            "largest_change_of_a_score": round(float(np.abs(difference).max()), 6),
            "mean_change_of_a_score": round(float(np.abs(difference).mean()), 6),
            "pairs_that_flip": int(flips.sum()),
            "bias_score": round(float(row["value"]), 3),
            "interval": [round(float(row["low"]), 2), round(float(row["high"]), 2)],
        }
        print(name, json.dumps(results["variants"][name]), flush=True)
        args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
