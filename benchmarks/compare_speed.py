"""Time four ways of scoring CrowS-Pairs on the same model, pairs, machine and number of threads."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from facts import machine, sha256
from tools import HERE, TOOLS, Setting, Tool, batch_size_times, interpreter, run

LIMITS = {"small": 200, "base": 24}
REFERENCE = "one_at_a_time"
TOLERANCE = 1e-3
Records = dict[str, list[dict[str, Any]]]
Tuning = dict[str, dict[int, float]]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=LIMITS, required=True)
    parser.add_argument("--pairs", type=Path, required=True, help="CrowS-Pairs CSV")
    parser.add_argument("--work", type=Path, required=True, help="folder for environments and models")
    parser.add_argument("--limit", type=int, help=f"pairs to score; by default {LIMITS}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tools", nargs="+", default=[tool.name for tool in TOOLS])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    args = parser.parse_args()
    args.limit = args.limit or LIMITS[args.size]
    return args


def ensure_model(size: str, pairs: Path, work: Path) -> Path:
    folder = work / f"model-{size}"
    if not (folder / "model.safetensors").exists():
        script = [sys.executable, HERE / "make_model.py", "--size", size, "--pairs", pairs, "--out", folder]
        subprocess.run([str(part) for part in script], check=True)
    return folder


def best(times: dict[int, float]) -> int | None:
    return min(times, key=times.__getitem__) if times else None


def alternate(tools: list[Tool], setting: Setting, limit: int, repeats: int, tuning: Tuning) -> Records:
    """a b c d a b c d, so that a slow minute of the machine is shared by all."""
    records: Records = {tool.name: [] for tool in tools}
    for turn in range(repeats):
        for tool in tools:
            record = run(tool, setting, limit, best(tuning[tool.name]))
            records[tool.name].append(record)
            print(f"turn {turn + 1}  {tool.name:14} {record['seconds']:8.2f} s", flush=True)
    return records


def largest_gaps(records: Records) -> dict[str, float]:
    """Per tool, the largest distance of a sentence's CPS from the reference; missing scores are left out."""
    wanted = records[REFERENCE][0]["scores"]
    return {
        name: max(abs(a - b) for a, b in zip(wanted, runs[0]["scores"], strict=True) if b is not None)
        for name, runs in records.items()
    }


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Timings and versions only: neither sentences nor their scores are kept."""
    kept: dict[str, Any] = {key: runs[0][key] for key in ("what", "versions", "n_pairs", "n_sentences")}
    kept |= {key: runs[0].get(key) for key in ("batch_size", "n_masked", "n_shared")}
    kept["seconds"] = [round(each["seconds"], 3) for each in runs]
    kept["cpu_seconds"] = [round(each["cpu_seconds"], 3) for each in runs]
    return kept | {"median_seconds": round(median(kept["seconds"]), 3), "best_seconds": min(kept["seconds"])}


def ratios(tools: dict[str, dict[str, Any]], by: str = "median_seconds") -> dict[str, dict[str, float]]:
    """ratios[a][b]: how many times longer a takes than b."""
    times = {name: tool[by] for name, tool in tools.items()}
    return {a: {b: round(times[a] / times[b], 2) for b in times} for a in times}


def print_table(tools: dict[str, dict[str, Any]]) -> None:
    print(f"\n{'':14} {'median s':>9} {'pairs/s':>9}   times the duration of")
    print(f"{'':14} {'':9} {'':9} " + " ".join(f"{name:>14}" for name in tools))
    for name, row in ratios(tools).items():
        seconds = tools[name]["median_seconds"]
        rate = tools[name]["n_pairs"] / seconds
        print(f"{name:14} {seconds:9.2f} {rate:9.2f} " + " ".join(f"{value:14.2f}" for value in row.values()))


def save(report: dict[str, Any], folder: Path) -> None:
    gaps = report["largest_gap_to_reference"]
    if max(gaps.values()) > TOLERANCE:
        raise SystemExit(f"the tools disagree, so their times are not comparable: {gaps}")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=2) + "\n"
    (folder / f"speed-{report['size']}.json").write_text(text, encoding="utf-8")


def main() -> None:
    args = parse_args()
    tools = [tool for tool in TOOLS if tool.name in {REFERENCE, *args.tools}]
    args.work.mkdir(parents=True, exist_ok=True)
    setting = Setting(ensure_model(args.size, args.pairs, args.work), args.pairs, args.work, args.threads)
    for tool in tools:
        interpreter(tool, args.work)
    report: dict[str, Any] = {"size": args.size, "machine": machine(args.threads)}
    report["weights_sha256"] = sha256(setting.model / "model.safetensors")
    report["pairs_sha256"] = sha256(args.pairs)
    tuning = {tool.name: batch_size_times(tool, setting, max(1, args.limit // 4)) for tool in tools}
    report["tuning_seconds"] = {name: times for name, times in tuning.items() if times}
    records = alternate(tools, setting, args.limit, args.repeats, tuning)
    report["largest_gap_to_reference"] = largest_gaps(records)
    report["tools"] = {name: summary(runs) for name, runs in records.items()}
    report["ratios"] = ratios(report["tools"])
    # The best turn of each is the one least disturbed: far from the medians, it tells of a busy machine.
    report["ratios_of_best"] = ratios(report["tools"], "best_seconds")
    print_table(report["tools"])
    save(report, args.results)


if __name__ == "__main__":
    main()
