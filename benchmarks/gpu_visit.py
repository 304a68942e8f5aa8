"""Everything that is still to be measured on a GPU, in one visit of less than 15 minutes, the most wanted first.

On an H200: python benchmarks/gpu_visit.py --data DATA --out FOLDER --seconds 560
and, if a command may not take longer there, the rest by: --steps make-bert bert-base pass-1.2b make-llama choices-135m
On a CPU, to try it with tiny shapes: python benchmarks/gpu_visit.py --data DATA --out FOLDER --device cpu

DATA as for `causal_gpu.py`. Each step is a process of its own, writes its results as soon as it has one, and ends at its
time limit, which is four times as long on a CPU; no step begins when the visit is over. `visit.json` has the seconds and
the end of each step.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
LATER = ("weights read late", "GPU started late", "products not started")
"""What the command does while libraries are imported: once as it is, and once without each (`command_stages.py`)."""


@dataclass(frozen=True)
class Step:
    """A command with its time limit in seconds."""

    name: str
    seconds: int
    words: Sequence[str]


def steps(args: argparse.Namespace, work: Path) -> Iterator[Step]:
    """The steps, in the order in which their results are wanted."""
    tiny, data, pairs = args.device == "cpu", str(args.data), str(args.data / "crows-pairs" / "crows_pairs_anonymized.csv")
    few = ["--device", "cpu", "--limit", "12"] if tiny else []
    sizes = ["--sizes", "4", "8"] if tiny else ["--sizes", "64", "128", "256"]
    bert, llama = str(work / "bert"), str(work / "llama")

    def causal(name: str, shape: str, seconds: int, words: str, *more: str) -> Step:
        out, until = str(args.out / f"causal-{name}.json"), str(seconds * patience(args))
        files = ["--data", data, "--work", str(args.memory), "--out", out, "--seconds", until]
        shape = "tiny" if tiny else shape
        return Step(name, seconds + 30, ["causal_gpu.py", "--shapes", shape, *words.split(), *more, *files, *few])

    def other(name: str, seconds: int, script: str, at_full_size: str, on_a_cpu: str, *more: str) -> Step:
        return Step(name, seconds, [script, *(on_a_cpu if tiny else at_full_size).split(), *more])

    first = "--benches crows-pairs --steps"
    yield causal("pass-8b", "8b", 150, "--steps passes plain", *sizes)
    yield causal("command-8b", "8b", 170, f"{first} compiled command --turns 1", "--variants", *LATER)
    yield causal("pass-34b", "34b", 90, f"{first} passes plain", *sizes)
    ways = ["--ways", "now", "stored", "identity_now", "--device", args.device, "--out", str(args.out / "identity.json")]
    yield other("identity-8b", 60, "identity_speed.py", "--parameters 8e9 --pairs 705", "--parameters 1e6 --pairs 4", *ways)
    yield other("make-bert", 30, "make_model.py", "--size base", "--size small", "--pairs", pairs, "--out", bert)
    speed = ["--model", bert, "--pairs", pairs, "--out", str(args.out / "bert.json"), *few]
    yield other("bert-base", 90, "gpu_speed.py", "--repeats 3", "--repeats 1 --precisions fp32", *speed)
    yield causal("pass-1.2b", "1.2b", 60, "--steps passes plain", *sizes)
    made = ["--out", llama, "--device", args.device]
    yield other("make-llama", 30, "causal_model.py", "--shape smollm2-135m", "--shape tiny --vocabulary 12288", *made)
    amount = "--limit 1024 --whole --precision bf16", "--limit 4 --repeats 1"
    asked = ["--model", llama, "--benchmark", "bbq", "--data", data, "--device", args.device]
    yield other("choices-135m", 240, "choices_speed.py", *amount, *asked, "--out", str(args.out / "choices.json"))
    amount = "--limit 256 --precision bf16 --only-whole", "--limit 4 --only-whole --category Age"
    yield other("bbq-135m", 120, "choices_speed.py", *amount, *asked, "--out", str(args.out / "bbq.json"))


def patience(args: argparse.Namespace) -> int:
    """A CPU may take longer."""
    return 4 if args.device == "cpu" else 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--steps", nargs="*", help="all, if none is named")
    parser.add_argument("--seconds", type=float, default=840)
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="where weights are saved")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + args.seconds * patience(args)
    ends: dict[str, dict[str, object]] = {}
    paths = [str(HERE.parent / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as work:
        own = {"PYTHONPATH": os.pathsep.join(paths), "TILTMETER_CACHE": str(Path(work) / "cache")}
        for step in steps(args, Path(work)):
            if args.steps and step.name not in args.steps:
                continue
            ends[step.name] = ended(step, args.out, until, patience(args), os.environ | own)
            (args.out / "visit.json").write_text(json.dumps(ends, indent=1) + "\n", "utf-8")
            print(step.name, json.dumps(ends[step.name]), flush=True)


def ended(step: Step, out: Path, until: float, times: int, environment: dict[str, str]) -> dict[str, object]:
    """How a step ended. Its output is kept beside its results."""
    began = time.monotonic()
    if began > until:
        return {"end": "skipped: no time was left"}
    with (out / f"{step.name}.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, str(HERE / step.words[0]), *step.words[1:]]
        try:
            limit = min(step.seconds * times, until - began)
            code = subprocess.run(command, check=False, env=environment, stdout=log, stderr=log, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            code = None
    return {
        "end": "at its time limit" if code is None else f"exit code {code}",
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    main()
