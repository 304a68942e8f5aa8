"""Other settings of a causal pass, the share of its kernels, and attention kernels alone: what `causal_gpu.py` compares."""

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tiltmeter.models import forward_pass, lm_head, prefix_trees
from tiltmeter.models.logits import LogProbabilities
from tiltmeter.probes import likelihood

Change = tuple[AbstractContextManager[Any], dict[str, Any]]
KINDS = {
    "products": ("gemm", "cutlass3x", "nvjet", "wgmma", "cublas", "sm90_xmma"),
    "attention": ("attention", "fmha", "flash", "attn"),
    "softmax and counting": ("softmax", "reduce_kernel", "compare"),
    "copies": ("memcpy", "memset", "copy"),
}
"""What names of kernels have in common, in this order; others work element by element."""


@contextmanager
def replaced(place: Any, name: str, value: Any) -> Iterator[None]:
    """Another value for a while, of an attribute or a key."""
    of_dict = isinstance(place, dict)
    before = place[name] if of_dict else getattr(place, name)
    put = place.__setitem__ if of_dict else lambda key, new: setattr(place, key, new)
    put(name, value)
    try:
        yield
    finally:
        put(name, before)


@contextmanager
def cudnn_first() -> Iterator[None]:
    """Attention by cuDNN, which makes a plan for each shape and takes masks."""
    kernels = [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    with sdpa_kernel(kernels, set_priority=True):
        yield


def settings(model: Any, names: Sequence[str]) -> dict[str, Change]:
    """Each setting that a pass may have instead of the shipped ones, as a context and options of `ask`."""
    kind = "cpu" if model.device == "cpu" else "gpu"

    def rows(length: int) -> Change:
        return replaced(prefix_trees.ROW_TOKENS, kind, length), {}

    def blocks(*items: int) -> Change:
        return replaced(likelihood, "BLOCK_ITEMS", items), {}

    def chunks(logits: int) -> Change:
        return replaced(lm_head, "GPU_LOGITS", logits), {}

    found = {
        "rows of 256": rows(256),
        "plain norms": (replaced(model._parts, "norms", []), {}),
        "cuDNN": (replaced(forward_pass, "without_plans", cudnn_first), {}),
        "batches of 8192": (replaced(likelihood, "BLOCK_ITEMS", likelihood.BLOCK_ITEMS), {"batch_tokens": 8192}),
        "rows of 1024": rows(1024),
        "blocks of 200 and 500": blocks(200, 500),
        "rows of 128": rows(128),
        "one block": blocks(10**6, 10**6),
        "blocks of 100, 300 and 700": blocks(100, 300, 700),
        "blocks of 400 and 1200": blocks(400, 1200),
        "blocks of 100 and 250": blocks(100, 250),
        "logits 2^26": chunks(2**26),
        "logits 2^28": chunks(2**28),
        "batches of 4096": (replaced(likelihood, "BLOCK_ITEMS", likelihood.BLOCK_ITEMS), {"batch_tokens": 4096}),
        "not shared": (replaced(model._parts, "unshared", "for comparison"), {}),
    }
    return {name: change for name, change in found.items() if not names or name in names}


def profiled(ask: Callable[[], Any], device: str) -> dict[str, Any]:
    """Seconds of the kernels of one pass by kind, the slowest ones, and the functions of another pass that take longest."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CUDA] if device == "cuda" else [ProfilerActivity.CPU]
    began = time.perf_counter()
    with profile(activities=activities) as trace:
        ask()
        if device == "cuda":
            torch.cuda.synchronize()
    wall = time.perf_counter() - began
    spent, calls = Counter[str](), Counter[str]()
    for event in trace.events():
        of_kernel = event.device_type != torch.autograd.DeviceType.CPU
        if of_kernel != (device == "cuda"):
            continue
        micro = event.time_range.elapsed_us() if of_kernel else event.self_cpu_time_total
        spent[event.name] += micro / 1e6
        calls[event.name] += 1
    kinds = Counter[str]()
    for name, taken in spent.items():
        kinds[kind_of(name)] += taken
    return {
        "wall_seconds": round(wall, 3),
        "kernel_seconds": round(sum(spent.values()), 3),
        "kernels": sum(calls.values()),
        "kinds": {name: round(taken, 4) for name, taken in kinds.most_common()},
        "slowest": [[name[:90], round(taken, 4), calls[name]] for name, taken in spent.most_common(14)],
        "host": host_profile(ask),
    }


def kind_of(kernel: str) -> str:
    lowered = kernel.lower()
    return next((kind for kind, parts in KINDS.items() if any(part in lowered for part in parts)), "elementwise")


def host_profile(ask: Callable[[], Any]) -> list[list[Any]]:
    """The functions with the most time of their own, and with those that they call."""
    profile = cProfile.Profile()
    profile.runcall(ask)
    rows: Any = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    named = [
        [f"{file.rsplit('/', 1)[-1]}:{name}", round(own, 3), round(whole, 3)]
        for (file, _, name), (_, _, own, whole, _) in rows.items()
    ]
    return sorted(named, key=lambda row: -row[1])[:16] + sorted(named, key=lambda row: -row[2])[:40]


def trial(parts: Any) -> dict[str, Any]:
    """Distances, behind the first, the middle and the last layer, of states from those of texts in a padded batch."""
    with torch.inference_mode():
        found = prefix_trees.tried(parts)
    shown = [1, len(found.alone) // 2, -1]
    return {
        name: [round(float(prefix_trees.distances(states, found.alone)[n]), 5) for n in shown]
        for name, states in zip(found._fields[1:], found[1:], strict=True)
    } | {"within noise": prefix_trees.within_noise(found)}


def attention_kernels(config: Any, device: str, *, flex: bool, length: int = 512, rows: int = 32) -> dict[str, Any]:
    """Milliseconds of one layer's attention over rows of prefix trees, by each kernel or by FlexAttention."""
    heads, width = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    query, key, value = (torch.randn(rows, heads, length, width, device=device, dtype=dtype) for _ in range(3))
    ends = torch.arange(length, device=device).div(16, rounding_mode="floor").mul(16).add(16).clamp(max=length)
    mask = prefix_trees.tree_options(ends.expand(rows, -1), dtype)["attention_mask"]
    attend = torch.nn.functional.scaled_dot_product_attention
    kernels: dict[str, Callable[[], Any]] = {
        "efficient, masked": with_kernel(SDPBackend.EFFICIENT_ATTENTION, lambda: attend(query, key, value, mask)),
        "cuDNN, masked": with_kernel(SDPBackend.CUDNN_ATTENTION, lambda: attend(query, key, value, mask)),
        "flash, causal": with_kernel(SDPBackend.FLASH_ATTENTION, lambda: attend(query, key, value, is_causal=True)),
    }
    if flex:
        return {"flex, block mask": flex_milliseconds(query, key, value, ends, device)}
    return {name: milliseconds(run, device) for name, run in kernels.items()}


def counting_kernels(vocabulary: int, device: str) -> dict[str, Any]:
    """Milliseconds of the parts of reading logits: log-probabilities, and counting what is larger in other ways."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    logits = torch.randn(
        max(1, (2**27 if device == "cuda" else 2**20) // vocabulary), vocabulary, device=device, dtype=dtype
    )
    picked = logits[:, :1].clone()
    ways: dict[str, Callable[[], Any]] = {
        "log-softmax": lambda: LogProbabilities(logits),
        "count, truth values": lambda: (logits > picked).sum(1),
        "count, truth values in 32 bits": lambda: (logits > picked).sum(1, dtype=torch.int32),
        "count, floats": lambda: torch.gt(logits, picked, out=torch.empty_like(logits)).sum(1, dtype=torch.float32),
        "count_nonzero": lambda: torch.count_nonzero(logits > picked, dim=1),
    }
    return {"logits": logits.numel()} | {name: milliseconds(run, device) for name, run in ways.items()}


def with_kernel(backend: Any, run: Callable[[], Any]) -> Callable[[], Any]:
    def running() -> Any:
        with sdpa_kernel([backend]):
            return run()

    return running


def milliseconds(run: Callable[[], Any], device: str, times: int = 10) -> float | str:
    try:
        with torch.inference_mode():
            run()
            if device == "cuda":
                torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(times):
                run()
            if device == "cuda":
                torch.cuda.synchronize()
            return round((time.perf_counter() - began) / times * 1000, 3)
    except (RuntimeError, NotImplementedError, ValueError) as error:
        return str(error).splitlines()[0][:200]


def flex_milliseconds(query: Any, key: Any, value: Any, ends: Any, device: str) -> Any:
    """FlexAttention skips blocks that the tree hides; it is compiled for each process, which is counted, too."""
    if device != "cuda":
        return "only on a GPU"
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    began = time.perf_counter()
    try:
        flex = torch.compile(flex_attention, dynamic=False)
        length = query.shape[2]
        blocks = create_block_mask(
            lambda b, h, q, k: (q >= k) & (q < ends[k]), None, None, length, length, device=device, BLOCK_SIZE=128
        )
        taken = milliseconds(lambda: flex(query, key, value, block_mask=blocks), device)
    except Exception as error:  # whatever the compiler says
        return f"{type(error).__name__}: {error}"[:200]
    return {"milliseconds": taken, "compiling_seconds": round(time.perf_counter() - began, 1)}
