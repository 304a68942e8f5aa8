"""Memory that a model needs, against what is free: known from its files, before anything is loaded."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.display import number_text
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models.early_weights import early_files, free_before
from tiltmeter.models.precision import expected_device, resolve_precision
from tiltmeter.models.pretrained import import_libraries
from tiltmeter.models.tensor_files import read_header

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5 + 4 / 64}
"""Bytes per weight of a quantised layer; at 4 bit with a float32 scale for every 64 weights (NF4)."""
NOT_QUANTIZED = ("embed", "wte", "wpe", "lm_head", "norm", "ln_")
"""Parts of names of weights that bitsandbytes leaves as they are."""
GB = 1e9
LARGE = 10**9
"""Parameters from which on a model is announced before it is loaded."""


@dataclass(frozen=True)
class Size:
    """Parameters of a model: those of layers that quantisation changes, and the others. `stored`: bytes in files."""

    layers: int
    others: int
    stored: int

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self.layers + self.others

    def needed(self, precision: str, quantize: str | None = None) -> int:
        """Bytes of the weights when they are loaded so."""
        each = QUANTIZED_BYTES[quantize] if quantize else BYTES[precision]
        return round(self.layers * each + self.others * BYTES[precision])


def size_of(files: Sequence[Path]) -> Size | None:
    """Size of a model by the headers of its safetensors files; None for other files and damaged ones."""
    if any(path.suffix != ".safetensors" for path in files):
        return None
    layers = others = 0
    try:
        for name, shape in _shapes(files):
            if len(shape) > 1 and not any(part in name.lower() for part in NOT_QUANTIZED):
                layers += math.prod(shape)
            else:
                others += math.prod(shape)
        return Size(layers, others, sum(path.stat().st_size for path in files))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None  # loading says what is wrong


def _shapes(files: Sequence[Path]) -> Iterator[tuple[str, list[int]]]:
    for path in files:
        for key, value in read_header(path)[0].items():
            yield key, [operator.index(size) for size in value["shape"]]


def free_memory(device: str) -> int | None:
    """Bytes that are free on a device; None where that cannot be known."""
    if device.startswith("cuda"):
        import torch

        try:
            return int(torch.cuda.mem_get_info(torch.device(device))[0])
        except (RuntimeError, AssertionError):  # no such GPU, or a torch without CUDA: loading says so
            return None
    if device != "cpu":
        return None
    try:
        facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        free = int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else None
    room = _cgroup_room()
    return free if room is None else min(free, room)


def _cgroup_room() -> int | None:
    """Memory left to a container. Cached files are no obstacle: the system drops them when it needs room."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, taken = (int((folder / f"memory.{name}").read_text("ascii")) for name in ("max", "current"))
        facts = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
        cached = sum(int(facts.get(name, 0)) for name in ("active_file", "inactive_file"))
        return max(0, most - taken + cached)
    except (OSError, ValueError):
        return None


def check_memory(
    name: str, size: Size | None, device: str, precision: str, quantize: str | None, quantized: bool
) -> dict[str, float]:
    """Refuse a model that does not fit, with what would; return the gigabytes of its weights for the manifest."""
    if size is None:
        return {}
    needed = size.stored if quantized else size.needed(precision, quantize)
    free = free_memory(device)
    if free is not None and needed > free:
        _refuse(name, size, needed, free, device, precision)
    return {"weights_gb": round(needed / GB, 3)}


def memory_text(name: str, loading: Mapping[str, Any]) -> str | None:
    """Parameters and memory of a large local model in one line, before it is loaded; None for others."""
    from tiltmeter.models.identity import find_source

    try:
        source = find_source(name, loading.get("revision"))
        size = size_of(source.weights) if source else None
    except (TiltmeterError, OSError, ValueError):  # loading says what is wrong
        return None
    if source is None or size is None or size.parameters < LARGE:
        return None
    wanted = str(loading.get("device", "auto"))
    device = expected_device(wanted)
    early = early_files(source, loading)
    if device != "cpu":
        import_libraries(wanted, early)  # which a GPU needs to start, before it says what is free
    precision = resolve_precision(str(loading.get("precision", "auto")), device, source.saved_dtype)
    needed = size.stored if source.quantization else size.needed(precision, loading.get("quantize"))
    free = free_before(early) or free_memory(device)
    room = "" if free is None else f"; {number_text(free / GB)} GB are free on {device}"
    return (
        f"{name}: {number_text(size.parameters / 1e9)} billion parameters, {number_text(needed / GB)} GB of weights "
        f"in {precision}{room}."
    )


def _refuse(name: str, size: Size, needed: int, free: int, device: str, precision: str) -> None:
    ways = {"--precision bf16": size.needed("bf16")} if BYTES[precision] > 2 else {}
    ways |= {f"--quantize {bits}": size.needed("bf16", bits) for bits in QUANTIZED_BYTES}
    fitting = {way: size for way, size in ways.items() if size <= free}
    advice = ", ".join(f"{way} ({number_text(size / GB)} GB)" for way, size in fitting.items())
    raise ModelError(
        f"{name} has {number_text(size.parameters / 1e9)} billion parameters and needs {number_text(needed / GB)} "
        f"GB in {precision}; "
        f"{number_text(free / GB)} GB are free on {device}. "
        + (f"It fits with {advice}." if advice else "")
        + (" " if advice else "")
        + "--device-map auto spreads it over all devices.",
        code="out-of-memory", model=name, parameters=size.parameters, needed_gb=round(needed / GB, 1),
        free_gb=round(free / GB, 1), device=device, fits=list(fitting),
    )  # fmt: skip
