"""Tokens per second on full BOLD, against transformers' `generate` one prompt at a time and at its best batch size.

python benchmarks/generation_speed.py --model DIR --data FOLDER_WITH_bold --out OUT [--lexicon words.txt]

All three write the same number of new tokens per prompt, plainly sampled (temperature 1, no cuts), so a token is a token.
All begin with prompts as text and end with texts. Ours and `generate` take turns; medians count.
Then the whole family runs, as a user would run it, with texts that stop where their sentence does; its run folder and its
estimates are written too.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers

import tiltmeter
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.families.generations.generate import Speaker
from tiltmeter.models.sampling import Sampling
from tiltmeter.models.text_generator import Writer
from tiltmeter.storage.observations import ObservationCache

NEW_TOKENS = 30
BATCHES = (4096, 8192)
ALONE = 12


def seconds(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def ours(model: Any, items: Any) -> dict[str, Any]:
    writer = Writer(model, Sampling(new_tokens=NEW_TOKENS, sentence=False))
    began = seconds(model.device)
    table = Speaker(writer, ObservationCache(None, {}), samples=1, seed=0).write(items)
    took = seconds(model.device) - began
    tokens = sum(table["n_tokens"].to_pylist())
    return {"prompts": len(items), "tokens": tokens, "seconds": took, "tokens_per_second": tokens / took}


def theirs(model: Any, texts: list[str], batch: int) -> dict[str, Any]:
    """`generate` on prompts sorted by length, padded at the left, and its texts."""
    module, device = model._module, next(model._module.parameters()).device
    pad = model.tokens.pad_id
    tokens, began = 0, seconds(model.device)
    ordered = sorted(Writer(model, Sampling()).encode(texts), key=len)
    with torch.inference_mode():
        for first in range(0, len(ordered), batch):
            some = ordered[first : first + batch]
            width = max(map(len, some))
            ids = torch.tensor([[pad] * (width - len(one)) + list(one) for one in some], device=device)
            mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in some], device=device)
            settings = {"do_sample": True, "top_k": 0, "max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS}
            said = module.generate(ids, attention_mask=mask, pad_token_id=pad, **settings)
            tokens += (said.shape[1] - width) * len(some)
            model.tokens.tokenizer.batch_decode(said[:, width:].tolist(), skip_special_tokens=True)
    took = seconds(model.device) - began
    return {"batch": batch, "prompts": len(texts), "tokens": tokens, "seconds": took, "tokens_per_second": tokens / took}


def in_batches(model: Any, prompts: list[str], sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """All prompts at every batch size that fits."""
    for size in sorted(sizes, reverse=True):
        try:
            yield theirs(model, prompts, size)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()


def against_generate(facts: dict[str, Any]) -> dict[str, float]:
    """Our speed over theirs: medians over the turns, theirs at the size that is best by its median."""
    speeds: dict[int, list[float]] = {}
    for one in facts["generate_in_batches"]:
        speeds.setdefault(one["batch"], []).append(one["tokens_per_second"])
    own = statistics.median(one["tokens_per_second"] for one in facts["ours"])
    best = max(map(statistics.median, speeds.values()))
    return {"against_best_batch": own / best, "against_alone": own / facts["generate_alone"]["tokens_per_second"]}


def keep(facts: dict[str, Any], folder: Path) -> None:
    """Writes what is known so far: a run that is cut short loses nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "generation_speed.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(facts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--judge", action="append", default=[])
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--alone", type=int, default=ALONE)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--speed-only", action="store_true", help="without the whole run in the end")
    args = parser.parse_args()
    bench = load_benchmark("bold", data_dir=args.data, limit=args.limit)
    model = tiltmeter.load_model(args.model, precision=args.precision)
    items = bench.asked_items
    prompts = [item.texts["prompt"] for item in items]
    facts: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if model.device == "cuda" else platform.processor(),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "model": model.name, "weights_sha256": model.identity.weights, "precision": model.precision,
        "new_tokens": NEW_TOKENS,
    }  # fmt: skip
    ours(model, items[:64])  # the first pass loads kernels
    theirs(model, prompts[:64], 64)
    facts["generate_alone"] = theirs(model, prompts[:: max(1, len(prompts) // args.alone)][: args.alone], 1)
    keep(facts, args.out)
    facts["ours"], facts["generate_in_batches"] = [], []
    for _ in range(args.turns):  # the first turn is counted as well: a user's command has no other
        facts["ours"].append(ours(model, items))
        for one in in_batches(model, prompts, tuple(args.batches)):
            facts["generate_in_batches"].append(one)
        keep(facts | against_generate(facts), args.out)
    facts |= against_generate(facts)
    if args.speed_only:
        return
    options = {"cache": False, "limit": args.limit, "data_dir": args.data, "precision": args.precision, "by": ("all",)}
    began = time.perf_counter()
    judges = tuple(args.judge) or ("none",)
    run = tiltmeter.run(
        str(args.model),
        "bold",
        output=args.out / "bold-run",
        **options,
        options=tiltmeter.GenerationsOptions(judges=judges, samples=1),
    )
    whole = {"seconds": time.perf_counter() - began, "unjudged": run.manifest["evaluations"][0]["unjudged"]}
    texts = run.answers["generations"].table
    whole |= {"texts": len(texts), "tokens": int(texts["n_tokens"].sum())}
    facts["whole_run"] = whole
    keep(facts, args.out)


if __name__ == "__main__":
    main()
