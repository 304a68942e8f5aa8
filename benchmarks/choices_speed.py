"""Questions per second of `letters`, against the request pattern of lm-evaluation-harness's task `bbq`.

python benchmarks/choices_speed.py --model DIR --out OUT [--benchmark bbq --data FOLDER_WITH_bbq] [--limit 64] [--device cpu]

The pattern: each question with its context, and twelve continuations (the two people and ten wordings of "unknown"), each
a sequence of its own, sorted by length, in the batch size that is fastest. `letters` asks each question in six orders.
Both take turns; medians count. CPU seconds stand beside wall-clock seconds: on a busy machine these drift apart.
Then the peak memory of `letters` is measured for a growing number of questions.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import tiltmeter
from facts import machine
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.choices import answers_of
from tiltmeter.families.choices.implementations import UNKNOWN_WORDINGS
from tiltmeter.families.choices.prompts import find_prompt

BATCHES = (8, 32, 128)


def timed(run: Callable[[], Any], device: str) -> dict[str, float]:
    """Wall-clock and CPU seconds of a call."""
    began, cpu = time.perf_counter(), time.process_time()
    run()
    if device != "cpu":
        torch.cuda.synchronize()
    return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


def requests_of(model: Any, items: Sequence[Any]) -> list[tuple[list[int], int]]:
    """Token ids of every question with each of its continuations, and where the continuation begins."""
    prompt, tokenizer = find_prompt("plain", "en"), model.tokens.tokenizer
    found = []
    for item in items:
        start = [model.tokens.bos_id, *tokenizer(prompt.open(item), add_special_tokens=False)["input_ids"]]
        people = [answer for n, answer in enumerate(answers_of(item)) if n != item.extra["unknown"]]
        for answer in (*people, *sorted(UNKNOWN_WORDINGS)):
            found.append((start + tokenizer(f" {answer}", add_special_tokens=False)["input_ids"], len(start)))
    return found


def pattern(model: Any, items: Sequence[Any], batch: int) -> list[float]:
    """Log-likelihoods of all continuations, as a harness asks for them."""
    asked = sorted(requests_of(model, items), key=lambda one: -len(one[0]))
    values = []
    with torch.inference_mode():
        for first in range(0, len(asked), batch):
            some = asked[first : first + batch]
            width = len(some[0][0])
            ids = torch.tensor([row + [model.tokens.pad_id] * (width - len(row)) for row, _ in some], device=model.device)
            mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row, _ in some], device=model.device)
            logprobs = model._module(ids, attention_mask=mask).logits.log_softmax(-1)
            for n, (row, start) in enumerate(some):
                places = torch.arange(start - 1, len(row) - 1)
                values.append(float(logprobs[n, places, torch.tensor(row[start:])].sum()))
    return values


def letters(model: Any, benchmark: Any) -> Any:
    """Answers by letters in six orders, without a cache."""
    return tiltmeter.ask(model, benchmark, options=tiltmeter.ChoicesOptions(protocols=("letters",)), cache=False)


def medians(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def memory(model: Any, benchmark: Any, sizes: Sequence[int]) -> list[dict[str, float]]:
    """Peak memory of the process after each number of questions, in growing order, in megabytes."""
    found = []
    for n in sizes:
        letters(model, benchmark.limit(n))
        found.append({"questions": n, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmark", default="plumb-choices")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", type=int, nargs="*", default=[])
    given = parser.parse_args()
    model = tiltmeter.load_model(given.model, device=given.device)
    whole = load_benchmark(given.benchmark, data_dir=given.data)
    benchmark = whole.limit(given.limit)
    items = list(benchmark.items)
    tuning = {batch: timed(lambda batch=batch: pattern(model, items[:16], batch), model.device) for batch in BATCHES}
    best = min(tuning, key=lambda batch: tuning[batch]["cpu_seconds" if model.device == "cpu" else "seconds"])
    ours, theirs = [], []
    for _ in range(given.repeats):
        ours.append(timed(lambda: letters(model, benchmark), model.device))
        theirs.append(timed(lambda: pattern(model, items, best), model.device))
    results = {"letters": medians(ours), "twelve_continuations": medians(theirs)}
    report = {
        "model": model.name, "benchmark": benchmark.name, "questions": len(items), "batch": best, "repeats": given.repeats,
        "results": results, "machine": machine(torch.get_num_threads()),
        "ratio": {name: results["twelve_continuations"][name] / results["letters"][name] for name in results["letters"]},
        "questions_per_cpu_second": len(items) / results["letters"]["cpu_seconds"],
        "memory": memory(model, whole, given.memory),
    }  # fmt: skip
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
