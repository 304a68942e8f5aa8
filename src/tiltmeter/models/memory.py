"""Memory that a model needs, against what is free: known from its files, before anything is loaded."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import ModelError

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5 + 4 / 64}
"""Bytes per weight of a quantised layer; at 4 bit with a float32 scale for every 64 weights (NF4)."""
NOT_QUANTIZED = ("embed", "wte", "wpe", "lm_head", "norm", "ln_")
"""Parts of names of weights that bitsandbytes leaves as they are."""
GB = 1e9


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
    """Size of a model by the headers of its safetensors files; None for other files."""
    if any(path.suffix != ".safetensors" for path in files):
        return None
    layers = others = 0
    for name, shape in _shapes(files):
        if len(shape) > 1 and not any(part in name.lower() for part in NOT_QUANTIZED):
            layers += math.prod(shape)
        else:
            others += math.prod(shape)
    return Size(layers, others, sum(path.stat().st_size for path in files))


def _shapes(files: Sequence[Path]) -> Iterator[tuple[str, list[int]]]:
    for path in files:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        yield from ((key, value["shape"]) for key, value in header.items() if key != "__metadata__")


def free_memory(device: str) -> int | None:
    """Bytes that are free on a device; None where that cannot be known."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    if device != "cpu":
        return None
    try:
        facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        free = int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else None
    return min(free, _cgroup_room() or free)


def _cgroup_room() -> int | None:
    """Memory left to a container."""
    try:
        most = int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        return max(0, most - int(Path("/sys/fs/cgroup/memory.current").read_text("ascii")))
    except (OSError, ValueError):
        return None


def check_memory(
    name: str, size: Size | None, device: str, precision: str, quantize: str | None, quantized: bool
) -> dict[str, float]:
    """Refuse a model that does not fit, with what would; return parameters and gigabytes for the manifest."""
    if size is None:
        return {}
    needed = size.stored if quantized else size.needed(precision, quantize)
    free = free_memory(device)
    if free is not None and needed > free:
        _refuse(name, size, needed, free, device, precision)
    facts = {"weights_gb": round(needed / GB, 3)}
    return facts if free is None else {**facts, "free_gb": round(free / GB, 3)}


def _refuse(name: str, size: Size, needed: int, free: int, device: str, precision: str) -> None:
    ways = {"--precision bf16": size.needed("bf16")} if BYTES[precision] > 2 else {}
    ways |= {f"--quantize {bits}": size.needed("bf16", bits) for bits in QUANTIZED_BYTES}
    fitting = {way: size for way, size in ways.items() if size <= free}
    advice = ", ".join(f"{way} ({size / GB:.1f} GB)" for way, size in fitting.items())
    raise ModelError(
        f"{name} has {size.parameters / 1e9:.1f} billion parameters and needs {needed / GB:.1f} GB in {precision}; "
        f"{free / GB:.1f} GB are free on {device}. "
        + (f"It fits with {advice}." if advice else "")
        + (" " if advice else "")
        + "--device-map auto spreads it over all devices.",
        code="out-of-memory", model=name, parameters=size.parameters, needed_gb=round(needed / GB, 1),
        free_gb=round(free / GB, 1), device=device, fits=list(fitting),
    )  # fmt: skip
