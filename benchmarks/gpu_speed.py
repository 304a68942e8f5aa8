"""Times the whole scoring of full CrowS-Pairs on a GPU, for each precision; loading is not timed.

python benchmarks/gpu_speed.py --model DIR --pairs crows_pairs_anonymized.csv --out results.json
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import torch
import transformers

import tiltmeter
from tiltmeter.probes import batching, likelihood

SCORERS = ["cps", "pll", "aul", "aula", "sss", "all_masked"]


VARIANTS: dict[str, dict[str, Any]] = {
    "padded": {"joins": False},
    "joined": {},
    "joined, half as many tokens": {"tokens": {"fp32": 2**16, "fast": 2**17}},
    "joined, twice as many tokens": {"tokens": {"fp32": 2**18, "fast": 2**19}},
    "joined, smaller blocks": {"blocks": (200, 500)},
    "joined, larger blocks": {"blocks": (300, 1400)},
    "joined, growing blocks": {"blocks": (100, 200, 400, 800)},
}
"""Ways to do the same pass, to be compared on one machine by `--variants`."""


SHIPPED = batching.MOST_TOKENS


def changed(model: tiltmeter.LanguageModel, variant: dict[str, Any]) -> None:
    """Sets a variant; everything it does not name is as shipped."""
    parts: Any = model._parts
    parts.first_position = parts._takes_joined() if variant.get("joins", True) else None
    batching.MOST_TOKENS = SHIPPED | variant.get("tokens", {})
    likelihood.BLOCK_ITEMS = variant.get("blocks", (300, 700))


def timed(model: tiltmeter.LanguageModel, bench: tiltmeter.Benchmark, repeats: int) -> dict[str, Any]:
    """Median seconds of the whole of `score`: tokenising, aligning, forwarding, ranking, scoring."""
    tiltmeter.score(model, bench, SCORERS, cache=False)  # the first pass loads kernels
    seconds = []
    on_gpu = model.device != "cpu"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
    for _ in range(repeats):
        start = time.perf_counter()
        scores = tiltmeter.score(model, bench, SCORERS, cache=False)
        seconds.append(time.perf_counter() - start)
    table = tiltmeter.estimate(scores, ["bias_score"], by="all", resamples=100)
    return {
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None,
        "bias_score": dict(zip(table["scorer"], table["value"], strict=True)),
        "batches": scores.manifests[0]["batches_computed"],
        "sequences": scores.manifests[0]["sequences_forwarded"],
        "joins": model.joins,
        "mean_score": scores.to_pandas().groupby("scorer")["score"].mean().to_dict(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "tf32", "bf16"])
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--device", default="cuda", help="cpu to try the script")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    bench = tiltmeter.load_benchmark(args.pairs).limit(args.limit)
    facts: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name() if args.device != "cpu" else None,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "pairs": len(bench),
        "scorers": SCORERS,
    }
    for precision in args.precisions:
        model = tiltmeter.load_model(args.model, device=args.device, precision=precision)
        facts["weights_sha256"] = model.identity.weights
        for name, variant in VARIANTS.items() if args.variants else [("", {})]:
            if args.variants:
                changed(model, variant)
            found = timed(model, bench, args.repeats)
            facts[f"{precision}: {name}" if name else precision] = found
            print(precision, name, json.dumps(found), flush=True)
            if args.out:
                args.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
