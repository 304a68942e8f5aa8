"""On a GPU: where the time of the whole command goes, and how long the model pass takes, for this tree and an older one.

python benchmarks/gpu_breakdown.py --pairs crows_pairs_anonymized.csv --old OLD_TREE --work SCRATCH --out RESULTS.json

Python keeps what it compiled in a folder of this script's, for both trees, as it does where packages were installed in the
usual way; an untimed turn fills it. "outside" is from the start of the process to its end.

Trees take turns; medians of `--repeats` (5). Every command is a process with a cache of its own, written by a BERT-base-size
model with random weights in bf16 on all pairs. The model pass (six scorers; not loading) is timed after one untimed pass,
for fp32, tf32 and bf16; that of a causal model of GPT-2's size in bf16. About five minutes on an H200.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CAUSAL = ["causal", "causal_mean"]
MASKED = ["cps", "pll", "aul", "aula", "sss", "all_masked"]
PASS = """
import json, statistics, sys, time
sys.path.insert(0, sys.argv[1] + "/src")
import torch, tiltmeter
folder, pairs, repeats = sys.argv[2], sys.argv[3], int(sys.argv[6])
scorers, precisions = (words.split(",") for words in sys.argv[4:6])
bench, found = tiltmeter.load_benchmark(pairs), {}
for precision in precisions:
    model = tiltmeter.load_model(folder, device=sys.argv[7], precision=precision)
    scores = tiltmeter.score(model, bench, scorers, cache=False)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        scores = tiltmeter.score(model, bench, scorers, cache=False)
        seconds.append(time.perf_counter() - start)
    frame = scores.to_pandas()
    found[precision] = {
        "median": statistics.median(seconds), "all": seconds, "sequences": scores.manifests[0]["sequences_forwarded"],
        "mean_score": {name: float(part.mean()) for name, part in frame.groupby("scorer")["score"]},
    }
print("TIMED " + json.dumps(found))
"""


def answered(command: list[str], **more: str) -> Any:
    """What a process says in its line of results, and the seconds from its start to its end."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | more)
    took = time.perf_counter() - start
    lines = [line for line in done.stdout.splitlines() if line.startswith("TIMED ")]
    if not lines:
        raise SystemExit(f"{' '.join(command[:6])} … failed:\n{done.stderr[-3000:]}")
    found = json.loads(lines[-1].removeprefix("TIMED "))
    if "seconds" in found:
        found["seconds"]["outside"] = took
    return found


def bytecode(work: Path) -> dict[str, str]:
    """Lets Python keep what it compiles, also where the environment forbids it."""
    return {"PYTHONPYCACHEPREFIX": str(work / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}


def commands(
    trees: dict[str, Path], model: Path, args: argparse.Namespace, keep: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The whole command, fresh and with all answers stored, by turns; what is known is kept after each."""
    rows: dict[str, dict[str, list[Any]]] = {name: {"fresh": [], "stored": []} for name in trees}
    for turn in range(-1, args.repeats):  # the first turn compiles, and is not counted
        for name, tree in trees.items():
            cache, folder = args.work / f"cache-{name}", args.work / f"run-{name}"
            shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
            words = ["run", "-m", str(model), "-b", str(args.pairs), "--device", args.device, "--precision", args.precision]
            command = [sys.executable, str(HERE / "runners" / "timed_command.py"), str(tree), *words, "-o", str(folder)]
            for kind in ("fresh", "stored") if turn < args.stored else ("fresh",):
                found = answered(command, TILTMETER_CACHE=str(cache), **bytecode(args.work))
                print(name, kind, turn, json.dumps(found), flush=True)
                if turn >= 0:
                    rows[name][kind].append(found)
        keep(summaries(rows))
    return summaries(rows)


def summaries(rows: dict[str, dict[str, list[Any]]]) -> dict[str, Any]:
    return {name: {kind: summary(found) for kind, found in of_tree.items() if found} for name, of_tree in rows.items()}


def summary(found: list[Any]) -> dict[str, Any]:
    parts = dict.fromkeys(part for one in found for part in one["seconds"])
    each = {part: [one["seconds"].get(part, 0.0) for one in found] for part in parts}
    return {"median": {part: statistics.median(values) for part, values in each.items()}, "all": each}


def passes(trees: dict[str, Path], folder: Path, scorers: list[str], precisions: list[str], args: Any) -> dict[str, Any]:
    """The model pass alone."""
    words = [str(folder), str(args.pairs), ",".join(scorers), ",".join(precisions), str(args.repeats), args.device]
    return {name: answered([sys.executable, "-c", PASS, str(tree), *words]) for name, tree in trees.items()}


def make_models(args: argparse.Namespace) -> tuple[Path, Path]:
    masked, causal = args.work / f"bert-{args.size}", args.work / f"gpt2-{args.size}"
    if not (masked / "config.json").is_file():
        words = ["--size", args.size, "--pairs", str(args.pairs), "--out", str(masked)]
        subprocess.run([sys.executable, str(HERE / "make_model.py"), *words], check=True)
    if not (causal / "config.json").is_file():
        import torch
        from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

        layers, width, heads = {"base": (12, 768, 12), "small": (2, 128, 2)}[args.size]
        tokenizer = AutoTokenizer.from_pretrained(masked)
        ends = {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
        torch.manual_seed(0)
        size = max(tokenizer.get_vocab().values()) + 1
        config = GPT2Config(vocab_size=size, n_layer=layers, n_embd=width, n_head=heads, **ends)
        GPT2LMHeadModel(config).save_pretrained(causal)
        tokenizer.bos_token, tokenizer.eos_token = tokenizer.cls_token, tokenizer.sep_token
        tokenizer.save_pretrained(causal)
    return masked, causal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--old", type=Path, help="an older tree, to take turns with")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--stored", type=int, default=2, help="turns in which it is repeated with all answers stored")
    parser.add_argument("--steps", nargs="+", default=["command", "pass", "pass_causal"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--precisions", nargs="+", default=["fp32", "tf32", "bf16"])
    parser.add_argument("--size", default="base", choices=("base", "small"))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    trees = ({"old": args.old} if args.old else {}) | {"new": HERE.parent}
    masked, causal = make_models(args)
    results: dict[str, Any] = {"pairs": args.pairs.name, "size": args.size, "precision": args.precision}
    steps = {
        "pass": lambda: passes(trees, masked, MASKED, args.precisions, args),
        "pass_causal": lambda: passes(trees, causal, CAUSAL, args.precisions[-1:], args),
        "command": lambda: commands(trees, masked, args, lambda found: keep("command", found)),
    }

    def keep(name: str, found: dict[str, Any]) -> None:
        results[name] = found
        args.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    for name, step in steps.items():
        if name not in args.steps:
            continue
        start = time.perf_counter()
        keep(name, step())
        print(name, f"took {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
