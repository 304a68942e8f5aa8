"""Time what fills the masks of the same sentences: transformers' fill-mask pipeline and tiltmeter, taking turns.

    python benchmarks/slots_speed.py --model plumb-mlm --out benchmarks/results/slots-plumb-mlm.json

Both give the 100 likeliest tokens of every sentence (checked to be the same). `terms_of_one_piece`: the probability and the
rank of every gendered word that is one token, which is what the paper looks for among the 100. `all_terms` is what a run
asks: words of several pieces too, for which the pipeline has no answer, with a pass for each number of pieces.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import tiltmeter
from facts import machine
from tiltmeter.benchmarks.kit.slots import SlotBenchmark
from tiltmeter.families.slots.probe import SlotsProbe
from tiltmeter.models import EMBEDDED
from tiltmeter.storage.observations import ObservationCache

K = 100
BATCH_SIZES = (1, 8, 32)
TOLERANCE = 5e-5
Way = Callable[[], Any]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="plumb-mlm", help="masked model: embedded name, folder or hub id")
    parser.add_argument("--sentences", default="plumb-slots", help="benchmark with slots: name or file")
    parser.add_argument("--limit", type=int, help="first N sentences only")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="JSON file for timings, ratios and the machine")
    return parser.parse_args()


def pipeline_of(name: str, device: str) -> Any:
    """The model as transformers loads it: tiltmeter prepares its own copy."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

    place = EMBEDDED.get(name, name)
    model = AutoModelForMaskedLM.from_pretrained(place, dtype=torch.float32)
    return pipeline("fill-mask", model=model, tokenizer=AutoTokenizer.from_pretrained(place), device=device, top_k=K)


def ways(name: str, model: tiltmeter.LanguageModel, bench: SlotBenchmark, device: str) -> dict[str, Way]:
    """What is timed, by name; each starts from the sentences as text."""
    texts = [item.texts["slot"].replace("[MASK]", model.tokens.tokenizer.mask_token) for item in bench.asked_items]
    fill = pipeline_of(name, device)

    def probe() -> SlotsProbe:
        return SlotsProbe(model, ObservationCache(None, {}))

    found: dict[str, Way] = {
        f"pipeline_batch_{size}": lambda size=size: fill(texts, batch_size=size) for size in BATCH_SIZES
    }
    found["tiltmeter_top_100"] = lambda: probe().top(bench.asked_items, K)
    single = {
        group: tuple(word for word in words if len(model.tokens.encode([word], special=False)[0].ids) == 1)
        for group, words in bench.terms.items()
    }
    found["tiltmeter_terms_of_one_piece"] = lambda: probe().observe(bench.asked_items, single)
    found["tiltmeter_all_terms"] = lambda: probe().observe(bench.asked_items, bench.terms)
    return found


def largest_difference(pipeline: list[Any], ours: list[Any]) -> float:
    """Relative, over all sentences and ranks; the tokens must be the same but where probabilities are equal."""
    worst = 0.0
    for theirs, (tokens, logprobs) in zip(pipeline, ours, strict=True):
        expected = np.array([one["score"] for one in theirs])
        worst = max(worst, float(np.abs(np.exp(logprobs.astype(np.float64)) / expected - 1).max()))
        differ = np.flatnonzero(tokens != np.array([one["token"] for one in theirs]))
        assert all(np.isclose(expected[n], expected[max(n - 1, 0) : n + 2], rtol=1e-5).sum() > 1 for n in differ)
    return worst


def timed(way: Way) -> tuple[float, float]:
    """Seconds by the clock, and of the processor: with one thread the latter hardly mind what else the machine does."""
    start, busy = time.perf_counter(), time.process_time()
    way()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return round(time.perf_counter() - start, 4), round(time.process_time() - busy, 4)


def ratios(pipeline: list[float], ours: list[float]) -> dict[str, float]:
    """How many times as long the pipeline takes, turn by turn: what else the machine does slows both in a turn."""
    each = sorted(one / other for one, other in zip(pipeline, ours, strict=True))
    return {"median": round(median(each), 2), "lowest": round(each[0], 2), "highest": round(each[-1], 2)}


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    model = tiltmeter.load_model(args.model, device=args.device)
    bench = tiltmeter.load_benchmark(args.sentences, limit=args.limit)
    assert isinstance(bench, SlotBenchmark), f"{args.sentences} has no slots"
    todo = ways(args.model, model, bench, args.device)
    difference = largest_difference(todo["pipeline_batch_1"](), todo["tiltmeter_top_100"]())
    assert difference < TOLERANCE, f"the two disagree by {difference:.1e}"
    seconds: dict[str, list[float]] = {name: [] for name in todo}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in todo}
    for _ in range(args.repeats):
        for name, way in todo.items():
            wall, cpu = timed(way)
            seconds[name].append(wall)
            cpu_seconds[name].append(cpu)
            print(f"{name:30} {wall:8.3f} s, {cpu:8.3f} s of processor", flush=True)
    middle = {name: median(times) for name, times in seconds.items()}
    fastest = min((name for name in middle if name.startswith("pipeline")), key=lambda name: middle[name])
    ours = [name for name in middle if name.startswith("tiltmeter")]
    report = {
        "model": model.name, "sentences": len(bench.asked_items), "vocabulary": model.vocabulary, "k": K,
        "largest_relative_difference": difference, "seconds": seconds, "cpu_seconds": cpu_seconds, "median_seconds": middle,
        "fastest_pipeline": fastest,
        "ratio_to_pipeline_as_it_comes": {name: ratios(seconds["pipeline_batch_1"], seconds[name]) for name in ours},
        "ratio_to_fastest_pipeline": {name: ratios(seconds[fastest], seconds[name]) for name in ours},
        "cpu_ratio_to_pipeline_as_it_comes": {
            name: ratios(cpu_seconds["pipeline_batch_1"], cpu_seconds[name]) for name in ours
        },
        "cpu_ratio_to_fastest_pipeline": {name: ratios(cpu_seconds[fastest], cpu_seconds[name]) for name in ours},
        "device": args.device, "machine": machine(args.threads),
        "versions": {name: version(name) for name in ("torch", "transformers", "tiltmeter")},
    }  # fmt: skip
    print(json.dumps({name: report[name] for name in report if "ratio" in name}, indent=1))
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
