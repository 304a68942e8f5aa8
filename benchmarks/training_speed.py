"""Time continued pre-training on the same lines: transformers' Trainer and tiltmeter's loop, taking turns.

    pip install accelerate        # for the Trainer alone
    python benchmarks/training_speed.py --model plumb-mlm --out benchmarks/results/training-plumb-mlm.json

Both take the same rows of token ids, as many of them a step, the same steps, optimizer and precision (bfloat16 on a GPU).
Tokens are those of the text: padding is not counted. `trainer` is as it comes, `trainer_by_length` groups rows of like
length, as ours does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch

from facts import machine
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.finetune import Causal, Loop, Masked, Recipe, encode, load_trainable
from tiltmeter.models import Parts

RATE = 5e-5
UNITS = ("second", "cpu_second")
Timed = dict[str, float]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="plumb-mlm", help="masked or causal model: embedded name, folder or hub id")
    parser.add_argument("--text", type=Path, help="by default the embedded text")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="JSON file for timings, ratios and the machine")
    return parser.parse_args()


@contextlib.contextmanager
def stopwatch() -> Iterator[Timed]:
    """On the clock, and on the processor: on a machine that others use too, only the second is a measure."""
    timed: Timed = {}
    began, worked = time.perf_counter(), time.process_time()
    yield timed
    timed |= {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - worked}


def ours(parts: Parts, rows: list[list[int]], args: argparse.Namespace) -> Timed:
    make = Causal if parts.kind == "causal" else Masked
    task: Any = make(parts.module, rows, parts.tokenizer)
    loop = Loop(parts.module, task, Recipe(steps=args.steps, rows=args.rows, peak_rate=RATE))
    with stopwatch() as timed:
        outcome = loop.run()
    return timed | {"tokens": outcome.tokens, "last_loss": outcome.curve[-1]["loss"]}


def trainer(parts: Parts, rows: list[list[int]], args: argparse.Namespace, sampling: str) -> Timed:
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    if parts.tokenizer.pad_token is None:
        parts.tokenizer.pad_token = parts.tokenizer.eos_token
    collate = DataCollatorForLanguageModeling(parts.tokenizer, mlm=parts.kind == "masked")
    seen = torch.zeros((), dtype=torch.int64, device=args.device)

    def count(module: Any, given: Any, named: dict[str, Any]) -> None:
        """What goes through the model: the loader reads ahead."""
        seen.add_(named["attention_mask"].sum())

    hook = parts.module.register_forward_pre_hook(count, with_kwargs=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            max_steps=args.steps,
            per_device_train_batch_size=args.rows,
            learning_rate=RATE,
            bf16=args.device != "cpu",
            use_cpu=args.device == "cpu",
            report_to=[],
            save_strategy="no",
            logging_steps=10,
            disable_tqdm=True,
            remove_unused_columns=False,
            train_sampling_strategy=sampling,
            dataloader_pin_memory=args.device != "cpu",
        )
        data: Any = [{"input_ids": row} for row in rows]
        made = Trainer(parts.module, settings, collate, data)
        with stopwatch() as timed, contextlib.redirect_stdout(io.StringIO()):
            made.train()
    hook.remove()
    return timed | {"tokens": int(seen), "last_loss": made.state.log_history[-1]["train_loss"]}


def taking_turns(args: argparse.Namespace) -> dict[str, list[Timed]]:
    """Ours, theirs, ours, theirs, so that a slow minute of the machine is shared; each from fresh weights."""
    ways: dict[str, Callable[..., Timed]] = {
        "tiltmeter": ours,
        "trainer": lambda *given: trainer(*given, "random"),
        "trainer_by_length": lambda *given: trainer(*given, "group_by_length"),
    }
    lines = text_of(args.text, args.lines).lines
    found: dict[str, list[Timed]] = {name: [] for name in ways}
    for turn in range(args.repeats + 1):  # the first warms up
        for name, way in ways.items():
            parts = load_trainable(args.model, Recipe(), method="timing", device=args.device)
            causal = parts.kind == "causal"
            rows = encode(lines, parts.module, parts.tokenizer, causal=causal, length=args.length)
            timed = way(parts, rows, args)
            if turn:
                speeds = {f"tokens_per_{unit}": timed["tokens"] / timed[f"{unit}s"] for unit in UNITS}
                found[name].append(timed | speeds)
                shown = ", ".join(f"{speed:10,.0f} {unit.replace('_', ' ')}" for unit, speed in speeds.items())
                print(f"turn {turn}  {name:18} {shown}", flush=True)
    return found


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    found = taking_turns(args)
    summary: dict[str, Any] = {}
    for unit in UNITS if args.device == "cpu" else UNITS[:1]:
        speeds = {name: median(one[f"tokens_per_{unit}"] for one in times) for name, times in found.items()}
        ratios = {name: speeds["tiltmeter"] / speed for name, speed in speeds.items() if name != "tiltmeter"}
        summary[f"tokens_per_{unit}"] = {"median": speeds, "tiltmeter_times_as_fast_as": ratios}
        for name, ratio in ratios.items():
            print(f"tokens per {unit.replace('_', ' ')}: tiltmeter is {ratio:.2f} times as fast as {name}")
    if args.out:
        versions = {name: version(name) for name in ("torch", "transformers", "accelerate")}
        given = {key: str(value) if isinstance(value, Path) else value for key, value in vars(args).items() if key != "out"}
        where = {"machine": machine(args.threads), "versions": versions}
        where |= {"gpu": torch.cuda.get_device_name()} if args.device != "cpu" else {}
        args.out.write_text(json.dumps({"settings": given, **summary, "runs": found, **where}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
