"""Log-likelihoods of the sentences of CrowS-Pairs by tiltmeter and by what users would take instead, side by side.

A plain padded loop, lm-evaluation-harness (HF backend) and minicons, each at its best batch size. A tool that is not
installed is left out; run the script with the interpreter of another environment and the same --out to add it.
Seconds are of the clock on a GPU, of the processor on a CPU.

python benchmarks/causal_speed.py --model FOLDER --pairs crows_pairs_anonymized.csv --out results.json [--device cuda]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
import transformers

from facts import machine
from runners.common import read_pairs

Scores = list[float]
PACKAGES = ("torch", "transformers", "lm-eval", "minicons", "accelerate")


class Plain:
    """The loop that everybody writes: sorted by length, padded on the right, log-softmax of all logits."""

    def __init__(self, args: argparse.Namespace) -> None:
        dtype = getattr(torch, args.dtype)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
        self.module = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=dtype).to(args.device).eval()
        self.device = args.device

    @classmethod
    def around(cls, module: Any, tokenizer: Any, device: str) -> "Plain":
        """The loop for a module in memory."""
        loop = cls.__new__(cls)
        loop.module, loop.tokenizer, loop.device = module, tokenizer, device
        return loop

    @torch.inference_mode()
    def score(self, sentences: list[str], batch_size: int) -> Scores:
        bos = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.eos_token_id
        ids = [[bos, *row] for row in self.tokenizer(sentences, add_special_tokens=False)["input_ids"]]
        order = sorted(range(len(ids)), key=lambda n: -len(ids[n]))
        found = [0.0] * len(ids)
        for first in range(0, len(order), batch_size):
            part = order[first : first + batch_size]
            lengths = torch.tensor([len(ids[n]) for n in part])
            rows = torch.zeros((len(part), int(lengths.max())), dtype=torch.long)
            for row, n in zip(rows, part, strict=True):
                row[: len(ids[n])] = torch.tensor(ids[n])
            valid = torch.arange(rows.shape[1]) < lengths[:, None]
            rows, valid = rows.to(self.device), valid.to(self.device)
            logits = self.module(input_ids=rows, attention_mask=valid.long(), use_cache=False).logits[:, :-1]
            logprobs = logits.float().log_softmax(-1).gather(-1, rows[:, 1:, None])[..., 0]
            for n, total in zip(part, (logprobs * valid[:, 1:]).sum(1).tolist(), strict=True):
                found[n] = total
        return found


class Harness:
    """`loglikelihood` of lm-evaluation-harness, with an empty context: its prefix token comes first."""

    def __init__(self, args: argparse.Namespace) -> None:
        from lm_eval.models.huggingface import HFLM

        self.of_size = lambda size: HFLM(str(args.model), device=args.device, dtype=args.dtype, batch_size=size)
        self.models: dict[int, Any] = {}

    @classmethod
    def around(cls, module: Any, tokenizer: Any) -> "Harness":
        """The harness for a module in memory."""
        from lm_eval.models.huggingface import HFLM

        harness = cls.__new__(cls)
        options = {"pretrained": module, "tokenizer": tokenizer, "backend": "causal"}
        harness.of_size, harness.models = lambda size: HFLM(**options, batch_size=size), {}
        return harness

    def score(self, sentences: list[str], batch_size: int) -> Scores:
        return self.continued([("", text) for text in sentences], batch_size)

    def continued(self, requests: list[tuple[str, str]], batch_size: int) -> Scores:
        """Log-likelihoods of continuations behind their contexts."""
        from lm_eval.api.instance import Instance

        if batch_size not in self.models:
            self.models = {batch_size: self.of_size(batch_size)}
        asked = [Instance("loglikelihood", {}, request, n) for n, request in enumerate(requests)]
        return [float(total) for total, _ in self.models[batch_size].loglikelihood(asked, disable_tqdm=True)]


class Minicons:
    """`sequence_score` of minicons' IncrementalLMScorer, with a BOS in front."""

    def __init__(self, args: argparse.Namespace) -> None:
        from minicons.scorer import IncrementalLMScorer

        self.scorer = IncrementalLMScorer(str(args.model), device=args.device, dtype=getattr(torch, args.dtype))

    def score(self, sentences: list[str], batch_size: int) -> Scores:
        found: Scores = []
        for first in range(0, len(sentences), batch_size):
            part = sentences[first : first + batch_size]
            found += self.scorer.sequence_score(part, reduction=lambda terms: terms.sum().item(), bos_token=True)
        return found


class Tiltmeter:
    """The causal scorer of tiltmeter on the same pairs: tokenising, aligning, forwarding, ranking, scoring."""

    def __init__(self, args: argparse.Namespace) -> None:
        import tiltmeter

        precision = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[args.dtype]
        self.model = tiltmeter.load_model(args.model, device=args.device, precision=precision)
        self.facts: dict[str, Any] = {}

    def score(self, sentences: list[str], batch_size: int) -> Scores:
        import tiltmeter

        pairs = zip(sentences[::2], sentences[1::2], strict=True)
        items = [tiltmeter.Item(str(n), {"stereo": a, "anti": b}) for n, (a, b) in enumerate(pairs)]
        scores = tiltmeter.score(self.model, tiltmeter.Benchmark("pairs", items), ["causal"], cache=False)
        self.facts = {name: scores.manifests[0][name] for name in ("tokens_asked", "tokens_forwarded", "batches_computed")}
        return [float(score) for score in scores.table["score"]]


TOOLS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "plain": Plain, "harness": Harness, "minicons": Minicons, "tiltmeter": Tiltmeter,
}  # fmt: skip
SIZES = {"cpu": (4, 16, 64), "cuda": (16, 64, 128, 256, 512)}


def seconds(tool: Any, sentences: list[str], batch_size: int, device: str) -> tuple[float, Scores]:
    if device == "cuda":
        torch.cuda.synchronize()
    clock = time.perf_counter if device == "cuda" else time.process_time  # others may use a CPU meanwhile
    started = clock()
    scores = tool.score(sentences, batch_size)
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - started, scores


def best_size(tool: Any, sentences: list[str], sizes: tuple[int, ...], device: str) -> dict[int, float]:
    """Time of each batch size, once; one that does not fit into memory is left out."""
    times = {}
    for size in sizes:
        try:
            times[size] = round(seconds(tool, sentences, size, device)[0], 3)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
    return times


def measured(name: str, args: argparse.Namespace, sentences: list[str]) -> dict[str, Any]:
    tool = TOOLS[name](args)
    tool.score(sentences[:16], 4)
    sizes = (0,) if name == "tiltmeter" else SIZES[args.device]
    tuned = best_size(tool, sentences, sizes, args.device)
    size = min(tuned, key=tuned.__getitem__)
    runs = [seconds(tool, sentences, size, args.device) for _ in range(args.repeats)]
    return {
        "median_seconds": round(statistics.median(time for time, _ in runs), 3),
        "seconds": [round(time, 3) for time, _ in runs],
        "batch_size": size or None,
        "tuning": tuned,
        "scores": runs[0][1],
        **getattr(tool, "facts", {}),
    }


def versions() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def compared(results: dict[str, Any], found: dict[str, Scores]) -> None:
    """Ratios to tiltmeter, and the largest distance of a sentence's score from the plain loop's."""
    tools = results["tools"]
    for name, facts in tools.items():
        if "tiltmeter" in tools:
            facts["times_tiltmeter"] = round(facts["median_seconds"] / tools["tiltmeter"]["median_seconds"], 2)
        if name in found and "plain" in found:
            gaps = [abs(a - b) for a, b in zip(found["plain"], found[name], strict=True)]
            facts["largest_gap"] = round(max(gaps), 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=10**6)
    parser.add_argument("--device", default="cpu", choices=SIZES)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    sentences = [text for pair in read_pairs(args.pairs, args.limit) for text in pair]
    results = json.loads(args.out.read_text("utf-8")) if args.out.exists() else {"tools": {}}
    results |= {
        "machine": machine(torch.get_num_threads()),
        "device": args.device,
        "dtype": args.dtype,
        "sentences": len(sentences),
    }
    if args.device == "cuda":
        results["gpu"] = torch.cuda.get_device_name()
    kept = args.out.with_suffix(".scores.json")  # sentences' scores stay out of the results
    found = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    for name in args.tools:
        try:
            facts = measured(name, args, sentences)
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            continue
        found[name] = facts.pop("scores")
        results["tools"][name] = {**facts, "versions": dict(versions())}
        compared(results, found)
        args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        kept.write_text(json.dumps(found), "utf-8")
        print(
            name, json.dumps({key: value for key, value in results["tools"][name].items() if key != "versions"}), flush=True
        )


if __name__ == "__main__":
    main()
