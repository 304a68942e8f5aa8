"""Questions per second of `letters`, against the request pattern of lm-evaluation-harness's task `bbq`.

python benchmarks/choices_speed.py --model DIR --out OUT [--benchmark bbq --data FOLDER_WITH_bbq] [--limit 64] [--device cpu]
python benchmarks/choices_speed.py --model DIR --out OUT --benchmark bbq --data FOLDER --limit 1024 --device cuda --whole

The pattern: each question with its context, and twelve continuations (the two people and ten wordings of "unknown"), each
a sequence of its own, sorted by length, in the batch size that is fastest; where lm-evaluation-harness is installed, its
`loglikelihood` answers the same requests in that batch size. `letters` asks each question in six orders.
They take turns; medians count. CPU seconds stand beside wall-clock seconds: on a busy machine these drift apart.
Questions are spread over all templates. Then all questions of the benchmark are asked once by `letters` (`--whole`), with
the peak memory after 1,024 of them, 2,048 and so on. The file is written after each part. The second command measures all of
BBQ on a GPU in some minutes. It needs torch, transformers and what tiltmeter itself needs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import tiltmeter
from causal_speed import Harness
from facts import machine
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.choices import answers_of
from tiltmeter.families import AskContext
from tiltmeter.families.choices.ask import stream
from tiltmeter.families.choices.implementations import UNKNOWN_WORDINGS
from tiltmeter.families.choices.prompts import find_prompt
from tiltmeter.models.forward_pass import passing

FIRST_MARK = 1024
BATCHES = {"cpu": (8, 32, 128), "cuda": (32, 128, 512)}


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
        for answer in continuations(item):
            found.append((start + tokenizer(f" {answer}", add_special_tokens=False)["input_ids"], len(start)))
    return found


def pattern(model: Any, items: Sequence[Any], batch: int) -> list[float]:
    """Log-likelihoods of all continuations, as a harness asks for them."""
    with torch.inference_mode(), passing(model.precision, model._module):
        return in_batches(model, requests_of(model, items), batch)


def in_batches(model: Any, requests: Sequence[tuple[list[int], int]], batch: int) -> list[float]:
    """Log-likelihoods of continuations, the longest first, padded on the right."""
    asked = sorted(requests, key=lambda one: -len(one[0]))
    values = []
    for first in range(0, len(asked), batch):
        some = asked[first : first + batch]
        width = len(some[0][0])
        ids = torch.tensor([row + [model.tokens.pad_id] * (width - len(row)) for row, _ in some])
        lengths, starts = torch.tensor([[len(row), start] for row, start in some]).T[:, :, None]
        here = torch.arange(1, width)
        read = ((here >= starts) & (here < lengths)).to(model.device)
        valid = (torch.arange(width) < lengths).long().to(model.device)
        ids = ids.to(model.device)
        logits = model._module(ids, attention_mask=valid, use_cache=False).logits[:, :-1]
        logprobs = logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        values += (logprobs.float() * read).sum(1).tolist()
    return values


def harness_of(model: Any, items: Sequence[Any], batch: int) -> Callable[[], Any] | None:
    """lm-evaluation-harness with the same requests; None if it is not installed."""
    try:
        tool = Harness.around(model._module, model.tokens.tokenizer)
        tool.continued([("a", " b")], batch)
    except ImportError:
        return None
    prompt = find_prompt("plain", "en")
    requests = [(prompt.open(item), f" {answer}") for item in items for answer in continuations(item)]
    return lambda: tool.continued(requests, batch)


def continuations(item: Any) -> list[str]:
    people = [answer for n, answer in enumerate(answers_of(item)) if n != item.extra["unknown"]]
    return [*people, *sorted(UNKNOWN_WORDINGS)]


def fastest_batch(model: Any, items: Sequence[Any]) -> int:
    """The batch size of the pattern with the least time; those that do not fit are left out."""
    seconds = {}
    for batch in BATCHES["cpu" if model.device == "cpu" else "cuda"]:
        with contextlib.suppress(torch.OutOfMemoryError):
            pattern(model, items[:16], batch)  # the first pass of a shape is slower
            run = timed(lambda batch=batch: pattern(model, items, batch), model.device)
            seconds[batch] = run["cpu_seconds" if model.device == "cpu" else "seconds"]
    return min(seconds, key=lambda batch: seconds[batch])


def letters(model: Any, benchmark: Any) -> Any:
    """Answers by letters in six orders, without a cache."""
    return tiltmeter.ask(model, benchmark, options=tiltmeter.ChoicesOptions(protocols=("letters",)), cache=False)


def medians(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def ratios(found: dict[str, float], ours: dict[str, float]) -> dict[str, float]:
    return {unit: found[unit] / ours[unit] for unit in ours}


def peaks(model: Any) -> dict[str, float]:
    """Peak memory so far in megabytes, of the process and of the GPU."""
    of_process = {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    return of_process if model.device == "cpu" else of_process | {"gpu_mb": torch.cuda.max_memory_allocated() / 2**20}


def whole(model: Any, benchmark: Any) -> dict[str, Any]:
    """Ask all questions by letters, in pieces as `tiltmeter run` does; record seconds and peak memory on the way."""
    options, context = tiltmeter.ChoicesOptions(protocols=("letters",)), AskContext(cache=False)
    marks: list[dict[str, float]] = []
    questions, mark = 0, FIRST_MARK
    began, cpu = time.perf_counter(), time.process_time()
    with model.unchanged():
        for tables in stream(model, benchmark, options, context).tables():
            questions += len(tables["choices"])
            if questions >= mark or questions == benchmark.size:
                marks.append({"questions": questions, "seconds": time.perf_counter() - began, **peaks(model)})
                mark *= 2
    seconds = time.perf_counter() - began
    return {
        "questions": questions, "seconds": seconds, "cpu_seconds": time.process_time() - cpu,
        "questions_per_second": questions / seconds, "marks": marks,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmark", default="plumb-choices")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--category", default="", help="of bbq")
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--only-whole", action="store_true", help="all questions by letters, and nothing to compare with")
    parser.add_argument("--precision", default="fp32")
    given = parser.parse_args()
    model = tiltmeter.load_model(given.model, device=given.device, precision=given.precision)
    category = {"category": given.category} if given.category else {}
    everything = load_benchmark(given.benchmark, data_dir=given.data, **category)
    benchmark = everything.limit(given.limit)
    if given.only_whole:
        letters(model, benchmark)  # the first pass loads kernels
        found = {"model": model.name, "precision": given.precision, "benchmark": everything.name}
        given.out.write_text(json.dumps(found | {"whole": whole(model, everything)}, indent=1) + "\n", encoding="utf-8")
        return
    items = list(benchmark.items)
    best = fastest_batch(model, items[: max(16, given.limit // 8)])
    letters(model, benchmark.limit(16))
    ways = {"letters": lambda: letters(model, benchmark), "twelve_continuations": lambda: pattern(model, items, best)}
    if harness := harness_of(model, items, best):
        ways["lm_evaluation_harness"] = harness
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for turn in range(given.repeats):
        for name, way in ways.items():
            runs[name].append(timed(way, model.device))
            print(turn, name, runs[name][-1], flush=True)
    results = {name: medians(turns) for name, turns in runs.items()}
    report = {
        "model": model.name, "precision": given.precision, "benchmark": benchmark.name, "questions": len(items),
        "batch": best, "repeats": given.repeats,
        "results": results, "machine": machine(torch.get_num_threads()),
        "ratios": {name: ratios(found, results["letters"]) for name, found in results.items()},
        "questions_per_second": len(items) / results["letters"]["seconds"],
        "questions_per_cpu_second": len(items) / results["letters"]["cpu_seconds"],
    }  # fmt: skip
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.whole:
        report["whole"] = whole(model, everything)
        each = report["results"]["twelve_continuations"]["seconds"] / len(items)
        report["whole"]["ratio_to_twelve_continuations"] = each * len(everything) / report["whole"]["seconds"]
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
