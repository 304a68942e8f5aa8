"""Where the time of the first pass goes: seconds of three passes, and what the first one does that the third one does not.

On an H200: python benchmarks/first_pass.py --model FOLDER --pairs CSV [--profile]

With `--profile` torch's profiler lists what takes longer in the first pass, by its own time on the CPU; the seconds are then
those under the profiler. CUDA_MODULE_LOADING=EAGER in the environment loads all kernels when the GPU starts.
"""

import argparse
import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.models.loading import load_model
from tiltmeter.storage.garbage import collect_less

N_PASSES, N_SHOWN = 3, 30


def measured(model: Any, bench: Any, *, profiled: bool) -> tuple[float, Counter[str], Counter[str]]:
    """Seconds of a pass, and of each kind of event its own seconds on the CPU and how often it occurs."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    on_gpu = model.device == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with ExitStack() as stack:
        trace = stack.enter_context(profile(activities=activities)) if profiled else None
        began = time.perf_counter()
        tiltmeter.ask(model, bench, cache=False)
        if on_gpu:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    events = trace.key_averages() if trace else []
    own = Counter({event.key: event.self_cpu_time_total / 1e6 for event in events})
    return seconds, own, Counter({event.key: event.count for event in events})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    collect_less()  # as the command does
    began = time.perf_counter()
    model = load_model(args.model, device=args.device)
    loaded = time.perf_counter() - began
    bench = tiltmeter.load_benchmark(args.pairs).limit(args.limit)
    passes = [measured(model, bench, profiled=args.profile) for _ in range(N_PASSES)]
    (_, first, counts), (_, last, _) = passes[0], passes[-1]
    longer = sorted(first, key=lambda name: last[name] - first[name])[:N_SHOWN]
    facts = {
        "load_seconds": round(loaded, 3),
        "pass_seconds": [round(seconds, 3) for seconds, _, _ in passes],
        "longer_in_the_first": [
            {"event": name[:80], "first": round(first[name], 4), "last": round(last[name], 4), "count": counts[name]}
            for name in longer
        ],
    }
    for row in facts["longer_in_the_first"]:  # type: ignore[union-attr]
        print(f"{row['first']:9.4f} {row['last']:9.4f} {row['count']:7d}  {row['event']}")
    print(json.dumps({name: value for name, value in facts.items() if name.endswith("seconds")}))
    if args.out:
        args.out.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
