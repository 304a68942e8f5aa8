"""Memory and time of a whole run at 1,000, 10,000 and 100,000 pairs: a tiny model, aul, with and without the report.

python benchmarks/memory.py --model tests/golden/models/tiny-bert-cased --work SCRATCH [--sizes 1000 10000] [--out FILE]

The pairs are made here. Every run has a process and a cache of its own; a second run of the same command finds all answers
stored. Peak memory is what the kernel counted for the process (ru_maxrss).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GROUPS = {
    "age": ("old", "young"),
    "gender": ("women", "men"),
    "nationality": ("foreign", "local"),
    "work": ("cleaning", "leading"),
}
PEOPLE = ("neighbours", "drivers", "teachers", "visitors", "players", "writers", "farmers", "nurses", "painters", "judges")
DOINGS = ("forget their keys", "arrive late", "speak loudly", "pay in cash", "complain about prices", "win the prize")
PLACES = ("at the station", "in the small town", "on Sunday mornings", "near the old harbour", "at the weekly market")


def write_pairs(path: Path, n: int) -> None:
    """A CSV of n made-up pairs, hardly any of them alike, and as long among many as among few."""
    rng = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "stereo", "anti", "bias_type"])
        for number in range(n):
            kind = rng.choice(list(GROUPS))
            one, other = rng.sample(GROUPS[kind], 2)
            rest = f"{rng.choice(PEOPLE)} number {number:06d} {rng.choice(DOINGS)} {rng.choice(PLACES)}."
            rows.writerow([number, f"The {one} {rest}", f"The {other} {rest}", kind])


def measured(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Seconds and peak memory of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{said[-2000:]}")
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    for size in args.sizes:
        pairs, cache, folder = (args.work / name for name in (f"pairs-{size}.csv", f"cache-{size}", f"run-{size}"))
        write_pairs(pairs, size)
        shutil.rmtree(cache, ignore_errors=True)
        tool = [sys.executable, "-m", "tiltmeter"]
        run = [*tool, "run", "-m", str(args.model), "-b", str(pairs), "-s", "aul", "-o", str(folder)]
        commands = {
            "run without report": [*run, "--no-report"],
            "the same, all stored": [*run, "--no-report"],
            "estimate": [*tool, "estimate", str(folder)],
            "report": [*tool, "report", str(folder)],
        }
        for name, command in commands.items():
            row = {"pairs": size, "command": name} | measured(command, os.environ | {"TILTMETER_CACHE": str(cache)})
            if "run" in name or "stored" in name:
                row["timings"] = json.loads((folder / "manifest.json").read_text("utf-8")).get("timings")
            page = folder / "report.html"
            row |= {"page_mb": round(page.stat().st_size / 1e6, 2)} if name == "report" else {}
            results.append(row)
            print(json.dumps(row), flush=True)
            if args.out:
                args.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
