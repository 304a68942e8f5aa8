"""Where the processor's time goes when BERT-base scores pairs, against the speed of its matrix products alone.

python benchmarks/cpu_breakdown.py --model FOLDER --pairs crows_pairs_anonymized.csv [--limit 8] --out results.json
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import tiltmeter
from facts import machine
from tiltmeter.models.packing import TYPICAL_ROWS, _Packed

SHAPES = {"query, key, value, output": (768, 768, 4), "feed-forward in": (768, 3072, 1), "feed-forward out": (3072, 768, 1)}
"""Inputs, outputs and number of each product in a layer of BERT-base."""


def product_speed(precision: str) -> dict[str, float]:
    """Operations per processor second of each product, as layers compute them (packed in float32)."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    found = {}
    for name, (inputs, outputs, _) in SHAPES.items():
        layer = torch.nn.Linear(inputs, outputs, dtype=dtype)
        product = _Packed(layer) if precision == "fp32" else layer
        states = torch.randn(TYPICAL_ROWS, inputs, dtype=dtype)
        with torch.inference_mode():
            product(states)
            started = time.process_time()
            for _ in range(3):
                product(states)
        found[name] = 3 * 2 * inputs * outputs * TYPICAL_ROWS / (time.process_time() - started)
    return found


def operations(model: Any, manifest: dict[str, Any]) -> float:
    """Operations of the products of all layers, for all tokens forwarded. Attention and the head are left out."""
    per_token = sum(2 * inputs * outputs * number for inputs, outputs, number in SHAPES.values())
    return float(per_token * model.module.config.num_hidden_layers * manifest["tokens_forwarded"])


def breakdown(model: Any, bench: Any) -> dict[str, float]:
    """Shares of processor time by kind of operation."""
    with profile(activities=[ProfilerActivity.CPU]) as record:
        tiltmeter.score(model, bench, ["cps"], cache=False)
    events = {event.key: event.self_cpu_time_total for event in record.key_averages()}
    whole = sum(events.values())
    largest = sorted(events.items(), key=lambda one: -one[1])[:10]
    return {name: round(time_ / whole, 3) for name, time_ in largest}


def measured(args: argparse.Namespace, precision: str) -> dict[str, Any]:
    model = tiltmeter.load_model(args.model, precision=precision)
    bench = tiltmeter.load_benchmark(args.pairs).limit(args.limit)
    tiltmeter.score(model, bench.limit(1), ["cps"], cache=False)
    seconds = []
    for _ in range(args.repeats):
        started = time.process_time()
        scores = tiltmeter.score(model, bench, ["cps"], cache=False)
        seconds.append(time.process_time() - started)
    manifest = scores.manifests[0]
    speeds = product_speed(precision)
    per_layer = sum(2 * inputs * outputs * number / speeds[name] for name, (inputs, outputs, number) in SHAPES.items())
    least = per_layer * model.module.config.num_hidden_layers * manifest["tokens_forwarded"]
    return {
        "seconds": [round(one, 2) for one in seconds],
        "tokens_forwarded": manifest["tokens_forwarded"],
        "gflops_of_products": {name: round(speed / 1e9, 1) for name, speed in speeds.items()},
        "seconds_of_products_alone": round(least, 2),
        "share_of_products": round(least / min(seconds), 2),
        "gflop": round(operations(model, manifest) / 1e9),
        "breakdown": breakdown(model, bench),
        "scores": [float(score) for score in scores.table["score"]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(torch.get_num_threads()), "pairs": args.limit, "torch": torch.__version__}
    for precision in ("fp32", "bf16"):
        results[precision] = measured(args, precision)
    exact, half = (results[precision].pop("scores") for precision in ("fp32", "bf16"))
    results["largest_difference_bf16"] = round(max(abs(a - b) for a, b in zip(exact, half, strict=True)), 3)
    args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
