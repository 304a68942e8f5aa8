"""What the runners share, so that they differ only in the tool they time. Standard library and torch only."""

import argparse
import csv
import difflib
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Pair = tuple[str, str]
Score = float | None


def parse_args(batch_size: int | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    if batch_size is not None:
        parser.add_argument("--batch-size", type=int, default=batch_size)
    args = parser.parse_args()
    limit_threads(args.threads)
    return args


def limit_threads(threads: int) -> None:
    # OMP_NUM_THREADS is set by the caller; this covers a runner started by hand.
    import torch

    torch.set_num_threads(threads)


def read_pairs(path: Path, limit: int) -> list[Pair]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:limit]
    return [(row["sent_more"], row["sent_less"]) for row in rows]


def shared_positions(a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
    """Positions of the tokens both sentences have; the outermost two are the special tokens and go."""
    blocks = difflib.SequenceMatcher(None, a, b).get_matching_blocks()
    left = [i for block in blocks for i in range(block.a, block.a + block.size)]
    right = [i for block in blocks for i in range(block.b, block.b + block.size)]
    return left[1:-1], right[1:-1]


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Wall time is what a user waits; processor time tells how much of it went to other jobs."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - processor,
    }


def write(out: Path, name: str, own: dict[str, str], n_pairs: int, **facts: Any) -> None:
    """`own` is the version of the tool itself, where it has one."""
    libraries = {each: version(each) for each in ("torch", "transformers", "tokenizers")}
    versions = {"python": platform.python_version(), **libraries, **own}
    record = {"name": name, "versions": versions, "n_pairs": n_pairs, "n_sentences": 2 * n_pairs, **facts}
    out.write_text(json.dumps(record), encoding="utf-8")
