"""Pass of a random Llama on one GPU: seconds, tokens, peak memory over the weights, arithmetic limit, against a plain loop.

On an H200 (34b: 68 GB, built on the GPU):
python benchmarks/causal_gpu.py --shapes 8b 1.2b 34b --data DATA --out benchmarks/results/causal-h200.json

DATA has crows-pairs/crows_pairs_anonymized.csv, stereoset/dev.json, bbq/data/Age.jsonl and bbq/templates/Age.csv.
On a CPU: --device cpu --shapes tiny --limit 50. Each step is written when it is done; one that fails is recorded, and
none begins after `--seconds`. Weights and their digest are known before the pass, as those of a loaded model are.
"""

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

import tiltmeter
from causal_model import VOCABULARY, build, write_tokenizer
from causal_settings import attention_kernels, counting_kernels, profiled, settings, trial
from causal_speed import SIZES, Harness, Plain, seconds
from command_stages import PYTHON_KEEPS, VARIANTS, medians, stage_table, whole_command
from tiltmeter.families.choices.prompts import find_prompt, orders_of
from tiltmeter.models import LanguageModel

PEAK = {"NVIDIA H200": 989e12, "NVIDIA H100": 989e12, "NVIDIA A100": 312e12}
"""Operations per second in bfloat16 without sparsity, by the vendor's data sheets."""
STEPS = (
    "passes",
    "profile",
    "plain",
    "harness",
    "settings",
    "kernels",
    "flex",
    "compiled",
    "command",
    "profiled",
    "first",
    "quantized",
)
LETTERS = tiltmeter.ChoicesOptions(protocols=("letters",), orders="all")


@dataclass
class Results:
    """Facts by shape and step, written whenever one is known."""

    out: Path
    until: float
    facts: dict[str, Any] = field(default_factory=dict)

    def attempt(self, shape: str, name: str, measure: Callable[[], Any]) -> Any:
        """Measure, unless time is up. A failure is a fact, too: the next steps go on."""
        began = time.perf_counter()
        if began > self.until:
            found = {"skipped": "no time was left"}
        else:
            try:
                found = measure()
            except Exception as error:
                traceback.print_exc()
                found = {"error": f"{type(error).__name__}: {error}"[:500]}
                gc.collect()
                torch.cuda.empty_cache()
        self.facts.setdefault(shape, {})[name] = found
        self.out.write_text(json.dumps(self.facts, indent=1) + "\n", "utf-8")
        print(shape, f"[{time.perf_counter() - began:.1f} s]", name, json.dumps(found)[:600], flush=True)
        return found


def benchmarks(data: Path, limit: int | None, questions: int) -> dict[str, Any]:
    """CrowS-Pairs, StereoSet, and questions about age."""
    pairs = tiltmeter.load_benchmark(data / "crows-pairs" / "crows_pairs_anonymized.csv")
    triples = tiltmeter.load_benchmark(data / "stereoset" / "dev.json")
    age = tiltmeter.load_benchmark("bbq", data_dir=data, category="Age").sample(questions)
    return {"crows-pairs": pairs.limit(limit), "stereoset": triples.limit(limit), "bbq letters": age.limit(limit)}


def asked(model: LanguageModel, bench: Any, **options: Any) -> dict[str, Any]:
    """Manifest of one pass without a cache."""
    if bench.family == "choices":
        return dict(tiltmeter.ask(model, bench, options=LETTERS, cache=False, **options).manifests[0])
    return dict(tiltmeter.score(model, bench, ["causal"], cache=False, **options).manifests[0])


def texts_of(bench: Any) -> list[str]:
    """What a plain loop reads: each text, or each question in its six orders."""
    if bench.family != "choices":
        return [text for item in bench.items for text in item.texts.values()]
    prompt = find_prompt("plain", "en")
    return [prompt.lettered(item, order) for item in bench.items for order in orders_of(3, "all")]


def timed(ask: Callable[[], dict[str, Any]], device: str, repeats: int) -> dict[str, Any]:
    ask()  # the first pass loads kernels
    weights = 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        weights = torch.cuda.memory_allocated()
    taken = []
    for _ in range(repeats):
        synchronise(device)
        started = time.perf_counter()
        manifest = ask()
        synchronise(device)
        taken.append(round(time.perf_counter() - started, 3))
    facts = {name: manifest.get(name) for name in ("tokens_asked", "tokens_forwarded", "batches_computed")}
    facts |= {"median_seconds": statistics.median(taken), "seconds": taken}
    if device == "cuda":
        facts["weights_gb"] = round(weights / 1e9, 2)
        facts["peak_over_weights_gb"] = round((torch.cuda.max_memory_allocated() - weights) / 1e9, 2)
    return facts


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def limit_seconds(module: Any, tokens: int | None) -> float | None:
    """Two operations per weight of a product and token at the data sheet's speed; attention is left out."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    peak = next((value for name, value in PEAK.items() if gpu.startswith(name)), None)
    parameters = sum(one.numel() for one in module.parameters())
    if not module.config.tie_word_embeddings:
        parameters -= module.get_input_embeddings().weight.numel()
    return round(2 * parameters * tokens / peak, 3) if peak and tokens else None


def plain_loop(tool: Plain, texts: list[str], sizes: tuple[int, ...], device: str) -> dict[str, Any]:
    """Seconds at each batch size, and once more at the best."""
    tool.score(texts[:64], 16)
    times = {}
    for size in sizes:
        try:
            times[size] = round(seconds(tool, texts, size, device)[0], 3)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
    best = min(times, key=times.__getitem__)
    again = round(seconds(tool, texts, best, device)[0], 3)
    return {"batch_size": best, "tuning": times, "best_seconds": min(again, times[best])}


def harness_loop(tool: Harness, bench: Any, size: int, device: str) -> dict[str, Any]:
    """lm-evaluation-harness at the plain loop's best batch size: texts, or the three letters behind each prompt."""
    letters = [("" if bench.family != "choices" else text) for text in texts_of(bench)]
    ends = [" A", " B", " C"] if bench.family == "choices" else None
    requests = [(start, end) for start, text in zip(letters, texts_of(bench), strict=True) for end in ends or [text]]
    tool.continued(requests[:64], size)
    taken = []
    for _ in range(2):
        synchronise(device)
        started = time.perf_counter()
        tool.continued(requests, size)
        synchronise(device)
        taken.append(round(time.perf_counter() - started, 3))
    return {"batch_size": size, "requests": len(requests), "seconds": taken, "best_seconds": min(taken)}


def measure(shape: str, args: argparse.Namespace, work: Path, results: Results, benches: dict[str, Any]) -> None:
    attempt = partial(results.attempt, shape)
    tokenizer = write_tokenizer(work / shape, VOCABULARY if shape != "tiny" else 12_288)
    began = time.perf_counter()
    dtype = torch.bfloat16 if args.device == "cuda" else torch.float32
    module = build(shape, args.device, dtype, VOCABULARY if shape != "tiny" else 12_288)
    synchronise(args.device)
    built = round(time.perf_counter() - began, 2)
    model = tiltmeter.wrap_model(module, tokenizer, name=shape, kind="causal")
    began = time.perf_counter()
    model._fixed = model.identity
    facts = {"parameters": model.facts["parameters"], "build_seconds": built, "not shared because": model._parts.unshared}
    attempt("model", lambda: facts | {"identity_seconds": round(time.perf_counter() - began, 3)})
    attempt("trial", lambda: trial(model._parts))
    for name, bench in benches.items():
        if "passes" in args.steps:
            ours = attempt(name, lambda bench=bench: timed(lambda: asked(model, bench), args.device, args.repeats))
            ours["limit_seconds"] = limit_seconds(module, ours.get("tokens_forwarded"))
        if name == "crows-pairs" and "profile" in args.steps:
            attempt("profile", lambda bench=bench: profiled(lambda: asked(model, bench), args.device))
    if "settings" in args.steps:
        for name, (change, options) in settings(model, args.settings).items():
            with change:
                ask = partial(asked, model, benches["crows-pairs"], **options)
                attempt(f"crows-pairs, {name}", lambda ask=ask: timed(ask, args.device, args.setting_repeats))
    for name, bench in benches.items():
        if "plain" in args.steps:
            loop, sizes = Plain.around(module, tokenizer, args.device), tuple(args.sizes or SIZES[args.device])
            texts = texts_of(bench)
            attempt(f"{name}, plain", partial(plain_loop, loop, texts, sizes, args.device))
        if "harness" in args.steps:
            size = results.facts[shape].get(f"{name}, plain", {}).get("batch_size", 128)
            attempt(
                f"{name}, harness",
                lambda bench=bench, size=size: harness_loop(Harness.around(module, tokenizer), bench, size, args.device),
            )
    if "kernels" in args.steps:
        attempt("attention kernels", lambda: attention_kernels(module.config, args.device, flex=False))
        attempt("counting kernels", lambda: counting_kernels(module.config.vocab_size, args.device))
    if "flex" in args.steps:
        attempt("flex attention", lambda: attention_kernels(module.config, args.device, flex=True))
    if {"command", "profiled", "first", "quantized"} & set(args.steps):
        attempt("saved", lambda: saved(module, work / shape))
        del model, module
        gc.collect()
        torch.cuda.empty_cache()
        measure_saved(attempt, args, work, work / shape, results.until, benches["crows-pairs"])


def measure_saved(
    attempt: Callable[..., Any], args: argparse.Namespace, work: Path, folder: Path, until: float, bench: Any
) -> None:
    """What needs the weights in files."""
    if "compiled" in args.steps:
        attempt("compiled", partial(compiled, args, work))
    if "command" in args.steps:
        compare_commands(attempt, args, work, folder, until)
    if "profiled" in args.steps:
        log = args.out.with_suffix(".profile.txt")
        run = partial(whole_command, folder, command_options(args), work / "run-profiled", until, log=log)
        attempt("command, profiled", run)
    if "first" in args.steps:
        attempt("first pass", partial(first_pass, folder, args))
        attempt("first pass, kernels loaded at once", partial(first_pass, folder, args, CUDA_MODULE_LOADING="EAGER"))
        attempt("first pass, profiled", partial(first_pass, folder, args, "--profile"))
    if "quantized" in args.steps:
        for bits in ("8bit", "4bit"):
            attempt(bits, partial(quantized, folder, bits, args, bench))


def saved(module: Any, folder: Path) -> dict[str, float]:
    """Seconds to write the weights in files of the size of Llama 3's."""
    began = time.perf_counter()
    module.save_pretrained(folder, max_shard_size="5GB")
    return {"seconds": round(time.perf_counter() - began, 1)}


def quantized(folder: Path, bits: str, args: argparse.Namespace, bench: Any) -> dict[str, Any]:
    """Loading by bitsandbytes, and the pass."""
    began = time.perf_counter()
    model = tiltmeter.load_model(folder, device=args.device, quantize=bits)
    loaded = round(time.perf_counter() - began, 2)
    model._fixed = model.identity
    return {"load_seconds": loaded} | timed(lambda: asked(model, bench), args.device, args.setting_repeats)


def compiled(args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """A small run, which compiles every module that a run imports."""
    words = ["run", "-m", "plumb-clm", "-b", "starter-pairs", "--limit", "2", "-o", str(work / "small"), "--no-cache"]
    began = time.perf_counter()
    command = [sys.executable, "-m", "tiltmeter", *words, "--device", args.device]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | PYTHON_KEEPS)
    return {"seconds": round(time.perf_counter() - began, 2), "rc": done.returncode, "stderr": done.stderr[-300:]}


def command_options(args: argparse.Namespace) -> list[str]:
    """Options of the whole command."""
    pairs = args.data / "crows-pairs" / "crows_pairs_anonymized.csv"
    limit = ["--limit", str(args.limit)] if args.limit else []
    return ["-b", str(pairs), "--device", args.device, *limit, *args.command_options]


def compare_commands(attempt: Callable[..., Any], args: argparse.Namespace, work: Path, folder: Path, until: float) -> None:
    """The command once with nothing stored; then, `turns` times, as it is and in each other way, by turns."""
    options, turns = command_options(args), {name: [] for name in ("as it is", *args.variants)}
    attempt("command 0", partial(whole_command, folder, options, work / "run-0", until))
    for turn in range(1, args.turns + 1):
        for number, name in enumerate(turns):
            title = f"command {turn}" + (f", {name}" if number else "")
            run = partial(whole_command, folder, options, work / f"run-{turn}-{number}", until, VARIANTS.get(name))
            turns[name].append(attempt(title, run))
    stages = medians(turns)
    values = [turn["values"] for each in turns.values() for turn in each if "values" in turn]
    attempt("stages", lambda: stages | {"equal values": all(value == values[0] for value in values)})
    print("\n".join(stage_table(stages)), flush=True)


def first_pass(folder: Path, args: argparse.Namespace, *options: str, **environment: str) -> dict[str, Any]:
    """Where the time of a first pass goes, in a process of its own."""
    pairs = args.data / "crows-pairs" / "crows_pairs_anonymized.csv"
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "first.json"
        command = [
            sys.executable,
            str(Path(__file__).with_name("first_pass.py")),
            "--model",
            str(folder),
            "--pairs",
            str(pairs),
        ]
        limit = ["--limit", str(args.limit)] if args.limit else []
        command += ["--device", args.device, "--out", str(out), *limit, *options]
        cache = {"TILTMETER_CACHE": str(folder.parent / "cache")}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | cache | environment)
        print(done.stdout, flush=True)
        return json.loads(out.read_text("utf-8")) if out.is_file() else {"stderr": done.stderr[-1500:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["8b", "1.2b"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=SIZES)
    parser.add_argument("--steps", nargs="*", default=["passes", "plain"], choices=STEPS)
    parser.add_argument("--benches", nargs="*", help="benchmarks to read; all if none is named")
    parser.add_argument("--settings", nargs="*", default=[], help="settings to try; all if none is named")
    parser.add_argument("--sizes", nargs="*", type=int, help="batch sizes of the plain loop")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--questions", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--setting-repeats", type=int, default=2)
    parser.add_argument("--turns", type=int, default=1, help="times that the whole command runs, once digests are stored")
    parser.add_argument("--variants", nargs="*", default=[], choices=VARIANTS, help="other ways of the command, by turns")
    parser.add_argument("--command-options", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--work", type=Path, help="where weights are saved; memory is fastest")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    results = Results(args.out, time.perf_counter() + args.seconds)
    results.facts["versions"] = {"torch": torch.__version__, "transformers": transformers.__version__}
    results.facts["gpu"] = torch.cuda.get_device_name() if args.device == "cuda" else None
    known = benchmarks(args.data, args.limit, args.questions)
    benches = {name: bench for name, bench in known.items() if not args.benches or name in args.benches}
    for shape in args.shapes:
        work = Path(tempfile.mkdtemp(dir=args.work))
        try:
            if results.until > time.perf_counter():
                measure(shape, args, work, results, benches)
        except Exception as error:
            traceback.print_exc()
            results.facts.setdefault(shape, {})["error"] = f"{type(error).__name__}: {error}"[:500]
        finally:
            shutil.rmtree(work, ignore_errors=True)
            gc.collect()
            if args.device == "cuda":
                torch.cuda.empty_cache()
    args.out.write_text(json.dumps(results.facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
