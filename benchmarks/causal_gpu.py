"""Pass of a random Llama on one GPU: seconds, tokens, peak memory over the weights, arithmetic limit, against a plain loop.

On an H200, in one command (34b: 68 GB, built on the GPU):
python benchmarks/causal_gpu.py --shapes 1.2b 8b 34b --data DATA --out benchmarks/results/causal-h200.json --command

DATA has crows-pairs/crows_pairs_anonymized.csv, stereoset/dev.json and bbq/data/*.jsonl.
On a CPU: --device cpu --shapes tiny --limit 50.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers

import tiltmeter
from causal_model import VOCABULARY, build, write_tokenizer
from causal_speed import SIZES, Plain, best_size
from runners.common import read_pairs
from tiltmeter.models import prefix_trees

PEAK = {"NVIDIA H200": 989e12, "NVIDIA H100": 989e12, "NVIDIA A100": 312e12}
"""Operations per second in bfloat16 without sparsity, by the vendor's data sheets."""
ROWS = (256, 512, 1024)


def benchmarks(data: Path, limit: int | None) -> dict[str, Callable[[Any], Any]]:
    """Functions that ask a model one benchmark, without a cache."""
    pairs = tiltmeter.load_benchmark(data / "crows-pairs" / "crows_pairs_anonymized.csv")
    triples = tiltmeter.load_benchmark(data / "stereoset" / "dev.json")
    questions = tiltmeter.load_benchmark("bbq", data_dir=data)
    age = replace(questions, items=[item for item in questions.items if item.bias_type == questions.items[0].bias_type])
    first = [one.sample(limit) if limit else one for one in (pairs, triples, age)]
    letters = tiltmeter.ChoicesOptions(protocols=("letters",), orders="all")
    return {
        "crows-pairs": lambda model: tiltmeter.score(model, first[0], ["causal"], cache=False).manifests[0],
        "stereoset": lambda model: tiltmeter.score(model, first[1], ["causal"], cache=False).manifests[0],
        "bbq letters": lambda model: tiltmeter.ask(model, first[2], options=letters, cache=False).manifests[0],
    }


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def timed(ask: Callable[[Any], Any], model: Any, device: str, repeats: int) -> dict[str, Any]:
    ask(model)  # the first pass loads kernels
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        weights = torch.cuda.memory_allocated()
    seconds = []
    for _ in range(repeats):
        synchronise(device)
        started = time.perf_counter()
        manifest = ask(model)
        synchronise(device)
        seconds.append(round(time.perf_counter() - started, 3))
    facts = {name: manifest.get(name) for name in ("tokens_asked", "tokens_forwarded", "batches_computed")}
    facts |= {"median_seconds": statistics.median(seconds), "seconds": seconds}
    if device == "cuda":
        facts["weights_gb"] = round(weights / 1e9, 2)
        facts["peak_over_weights_gb"] = round((torch.cuda.max_memory_allocated() - weights) / 1e9, 2)
    return facts


def limit_seconds(module: Any, tokens: int, gpu: str) -> float | None:
    """Two operations per parameter and token at the data sheet's speed; attention and the embedding are left out."""
    peak = next((value for name, value in PEAK.items() if gpu.startswith(name)), None)
    parameters = sum(one.numel() for one in module.parameters()) - module.get_input_embeddings().weight.numel()
    return round(2 * parameters * tokens / peak, 3) if peak else None


def plain_loop(module: Any, tokenizer: Any, sentences: list[str], device: str, repeats: int) -> dict[str, Any]:
    loop = Plain.__new__(Plain)
    loop.module, loop.tokenizer, loop.device = module, tokenizer, device
    loop.score(sentences[:64], 16)
    times = best_size(loop, sentences, SIZES[device], device)
    size = min(times, key=times.__getitem__)
    again = [best_size(loop, sentences, (size,), device)[size] for _ in range(repeats)]
    return {"batch_size": size, "tuning": times, "median_seconds": statistics.median(again), "seconds": again}


def measured(shape: str, args: argparse.Namespace, work: Path) -> dict[str, Any]:
    vocabulary = VOCABULARY if shape != "tiny" else 12_288
    tokenizer = write_tokenizer(work / shape, vocabulary)
    module = build(shape, args.device, torch.bfloat16 if args.device == "cuda" else torch.float32, vocabulary)
    model = tiltmeter.wrap_model(module, tokenizer, name=shape, kind="causal")
    gpu = torch.cuda.get_device_name() if args.device == "cuda" else "cpu"
    facts: dict[str, Any] = {"parameters": model.facts["parameters"], "shared_prefixes": model.facts["shared_prefixes"]}
    asks = benchmarks(args.data, args.limit)
    kind = "gpu" if args.device == "cuda" else "cpu"
    shipped = prefix_trees.ROW_TOKENS[kind]
    for name, ask in asks.items():
        facts[name] = timed(ask, model, args.device, args.repeats)
        facts[name]["limit_seconds"] = limit_seconds(module, facts[name]["tokens_forwarded"] or 0, gpu)
        print(shape, name, json.dumps(facts[name]), flush=True)
    for length in ROWS:
        prefix_trees.ROW_TOKENS[kind] = length
        facts[f"crows-pairs, rows of {length}"] = timed(asks["crows-pairs"], model, args.device, args.repeats)
    prefix_trees.ROW_TOKENS[kind] = shipped
    model._parts.unshared = "for comparison"
    facts["crows-pairs, not shared"] = timed(asks["crows-pairs"], model, args.device, args.repeats)
    pairs = read_pairs(args.data / "crows-pairs" / "crows_pairs_anonymized.csv", args.limit or 10**6)
    sentences = [text for pair in pairs for text in pair]
    facts["plain loop"] = plain_loop(module, tokenizer, sentences, args.device, args.repeats)
    facts["plain / ours"] = round(facts["plain loop"]["median_seconds"] / facts["crows-pairs"]["median_seconds"], 2)
    if args.command and shape != "34b":
        module.save_pretrained(work / shape)
        facts["command"] = whole_command(work / shape, args, work)
    return facts


def whole_command(folder: Path, args: argparse.Namespace, work: Path) -> list[dict[str, Any]]:
    """`tiltmeter run` on CrowS-Pairs, twice with an empty cache of answers: the first hashes the weights, too."""
    found = []
    for turn in range(2):
        out = work / f"run-{turn}"
        pairs = args.data / "crows-pairs" / "crows_pairs_anonymized.csv"
        options = ["-m", folder, "-b", pairs, "-o", out, "--no-cache", "--timings"]
        command = [sys.executable, "-m", "tiltmeter", "run", *map(str, options)]
        started = time.perf_counter()
        environment = {**os.environ, "TILTMETER_CACHE": str(work / "cache")}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        found.append({"seconds": round(time.perf_counter() - started, 2), "rc": done.returncode})
        if done.returncode == 0:
            found[-1]["timings"] = json.loads((out / "manifest.json").read_text("utf-8")).get("timings")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=["1.2b", "8b"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=SIZES)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--command", action="store_true", help="also time the whole command")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    results: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name() if args.device == "cuda" else None,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    for shape in args.shapes:
        with tempfile.TemporaryDirectory() as work:
            results[shape] = measured(shape, args, Path(work))
        args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        gc.collect()
        if args.device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
