"""What it costs to identify a model in memory: `score(wrap_model(m))` against the bare pass, in one process, taking turns.

    python benchmarks/identity_speed.py --out FILE
    python benchmarks/identity_speed.py --parameters 8e9 --device cuda --pairs 705 --out FILE

`bare`: the pass with an identity that is known. `now`: `score` without a cache, which identifies the model once.
`stored`: the second call with a cache, which asks nothing. `copied`: the way before, which copied all weights to the
processor and hashed them whenever the identity was read. `identity_now`, `identity_copied`: one reading of the identity.
A masked model of random weights (bf16 on a GPU) reads pairs of plumb-pairs. Ratios are of processor seconds on a CPU, which
others may be using, and of seconds by the clock on a GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers

import tiltmeter
from tiltmeter.models import LanguageModel, ModelIdentity
from tiltmeter.models.places import EMBEDDED

WIDTHS = {0.0: 768, 3e8: 2048, 3e9: 4096}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=float, default=1.35e8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ways", nargs="+", help="all, if none is named; the copied ones take minutes for 8e9 parameters")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    module = random_model(given.parameters, given.device)
    tokenizer = transformers.AutoTokenizer.from_pretrained(EMBEDDED["plumb-mlm"])
    bench = tiltmeter.load_benchmark("plumb-pairs", limit=given.pairs)
    with tempfile.TemporaryDirectory() as cache:

        def wrapped() -> LanguageModel:
            return tiltmeter.wrap_model(module, tokenizer, name="random")

        def score(model: LanguageModel, **options: Any) -> Any:
            return tiltmeter.score(model, bench, ["aul"], **options)

        fixed = wrapped()
        fixed._fixed = fixed.identity
        score(fixed, cache=False)  # the first pass loads kernels
        score(wrapped(), cache=cache)
        ways = {
            "bare": lambda: score(fixed, cache=False),
            "now": lambda: score(wrapped(), cache=False),
            "stored": lambda: score(wrapped(), cache=cache),
            "copied": lambda: score(Copied.of(wrapped()), cache=False),
            "identity_now": lambda: wrapped().identity,
            "identity_copied": lambda: Copied.of(wrapped()).identity,
        }
        ways = {name: way for name, way in ways.items() if not given.ways or name in ("bare", *given.ways)}
        clock, processor = taking_turns(ways, given.repeats, given.device)
    counted = clock if given.device.startswith("cuda") else processor
    report = facts(module, given) | {"clock": clock, "processor": processor, "ratios_to_bare": ratios(counted)}
    print(json.dumps(report, indent=1))
    if given.out:
        given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


class Copied(LanguageModel):
    """A model that is identified as before: weights are copied and hashed whenever the identity is read."""

    @classmethod
    def of(cls, model: LanguageModel) -> Copied:
        model.__class__ = cls
        return model  # type: ignore[return-value]

    unchanged = staticmethod(nullcontext)  # type: ignore[assignment]

    def _identify(self) -> ModelIdentity:
        digest = hashlib.sha256()
        for name, tensor in sorted(self._module.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return ModelIdentity(digest.hexdigest(), "", self.tokens.sha256, self.precision, self.kind)


def random_model(parameters: float, device: str) -> Any:
    """A BERT of about that many parameters."""
    width = next(width for least, width in reversed(WIDTHS.items()) if parameters >= least)
    config = transformers.AutoConfig.from_pretrained(EMBEDDED["plumb-mlm"])
    config.update({
        "hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": width // 64,
        "num_hidden_layers": max(1, round((parameters - config.vocab_size * width) / (12 * width**2))),
    })  # fmt: skip
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    with torch.device(device):
        return transformers.AutoModelForMaskedLM.from_config(config, dtype=dtype).eval()


Seconds = dict[str, list[float]]


def taking_turns(ways: dict[str, Callable[[], Any]], repeats: int, device: str) -> tuple[Seconds, Seconds]:
    """Seconds of each way in each turn, by the clock and of the processor."""
    clock: Seconds = {name: [] for name in ways}
    processor: Seconds = {name: [] for name in ways}
    for turn in range(repeats):
        for name, way in ways.items():
            start, used = time.perf_counter(), time.process_time()
            way()
            if device.startswith("cuda"):
                torch.cuda.synchronize()
            clock[name].append(round(time.perf_counter() - start, 4))
            processor[name].append(round(time.process_time() - used, 4))
            print(turn, name, clock[name][-1], flush=True)
    return clock, processor


def ratios(seconds: Seconds) -> dict[str, float]:
    """How many times as long as the bare pass, by the medians."""
    return {name: round(median(turns) / median(seconds["bare"]), 3) for name, turns in seconds.items()}


def facts(module: Any, given: argparse.Namespace) -> dict[str, Any]:
    tensors = {tensor.data_ptr(): tensor for tensor in module.state_dict().values()}.values()
    on_gpu = given.device.startswith("cuda")
    return {
        "model": {"architecture": type(module).__name__, "parameters": sum(tensor.numel() for tensor in tensors),
                  "bytes": sum(tensor.numel() * tensor.element_size() for tensor in tensors)},
        "pairs": given.pairs, "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if on_gpu else f"{platform.machine()} CPU",
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }  # fmt: skip


if __name__ == "__main__":
    main()
