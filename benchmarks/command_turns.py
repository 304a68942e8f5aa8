"""On a CPU: the whole command, the same with all answers stored, and its estimates, by this tree and an older one in turns.

taskset -c 0,1 python benchmarks/command_turns.py --pairs crows_pairs_anonymized.csv --old OLD_TREE --work SCRATCH --out FILE

Every command is a process of its own and every fresh one has an empty cache. Seconds by the clock are from the start of the
process to its end, processor seconds are what the kernel counted; "estimate" is by the clock, inside. A turn before the
first fills Python's bytecode folder and is not counted. A model of two layers (see make_model.py), all pairs, fp32.
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
from pathlib import Path
from typing import Any

from gpu_breakdown import bytecode

HERE = Path(__file__).parent
KINDS = ("fresh", "stored")


def measured(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    """Seconds by the clock and of the processor, and those of the command's parts."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    lines = [line for line in process.stdout if line.startswith("TIMED ")]
    _, status, used = os.wait4(process.pid, 0)
    if status or not lines:
        raise SystemExit(f"{' '.join(command)} failed.")
    parts = json.loads(lines[-1].removeprefix("TIMED "))["seconds"]
    return {"clock": time.perf_counter() - start, "processor": used.ru_utime + used.ru_stime, "estimate": parts["estimate"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--model", help="instead of one that is made here")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    model = args.model or str(args.work / "bert-small")
    if not args.model and not (args.work / "bert-small" / "config.json").is_file():
        words = ["--size", "small", "--pairs", str(args.pairs), "--out", model]
        subprocess.run([sys.executable, str(HERE / "make_model.py"), *words], check=True)
    trees = {"old": args.old, "new": HERE.parent}
    rows: dict[str, list[dict[str, Any]]] = {f"{kind}, {name}": [] for kind in KINDS for name in trees}
    for turn in range(-1, args.repeats):
        for name, tree in trees.items():
            cache, folder = (args.work / f"{what}-{name}" for what in ("cache", "run"))
            shutil.rmtree(cache, ignore_errors=True)
            for kind in KINDS:
                shutil.rmtree(folder, ignore_errors=True)
                words = ["run", "-m", model, "-b", str(args.pairs), "--device", "cpu", "-o", str(folder)]
                words += ["--limit", "50"] if turn < 0 else []
                command = [sys.executable, str(HERE / "runners" / "timed_command.py"), str(tree), *words]
                found = measured(command, {"TILTMETER_CACHE": str(cache)} | bytecode(args.work))
                print(turn, name, kind, json.dumps(found), flush=True)
                if turn >= 0:
                    rows[f"{kind}, {name}"].append(found)
                    args.out.write_text(json.dumps(summary(rows), indent=1) + "\n", encoding="utf-8")


def summary(rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians, all turns, and how many times as long the older tree takes."""
    medians = {
        name: {part: statistics.median(row[part] for row in found) for part in found[0]}
        for name, found in rows.items()
        if found
    }
    times = {
        kind: {part: old[part] / medians[f"{kind}, new"][part] for part in old}
        for kind in KINDS
        if (old := medians.get(f"{kind}, old")) and f"{kind}, new" in medians
    }
    return {"medians": medians, "times_as_long_before": times, "turns": rows}


if __name__ == "__main__":
    main()
