"""Placement of a model's layers on devices, by accelerate; and the device that a placed model takes its input on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import UsageError
from tiltmeter.models.logits import LogProbabilities, count_larger

if TYPE_CHECKING:
    import torch

STRATEGIES = ("auto", "balanced", "balanced_low_0", "sequential")
OFFLOADED = "tiltmeter-offloaded"
LARGE_WIDTH, MANY_ROWS, MOST_PRODUCTS = 2048, (8, 64, 2048, 8192, 16384), 2**28
"""From which width on the kernels of products are loaded beforehand, for so many rows and at most so many results."""
READ_ROWS = 64
SIZES, ATTENDED = ("hidden_size", "intermediate_size", "num_attention_heads"), 512


@cache
def start_device(device: str) -> Event | None:
    """Start a GPU in a thread, once: its context, its library of products and its first kernels take a second.

    A device that cannot be used is reported where it is needed.

    Args:
        device: As in `load_model`; for auto, a GPU is tried if torch was built for it.

    Returns:
        Is set when the driver has started, or could not. None for a device that is no GPU.
    """
    import torch

    if not (device.startswith("cuda") or (device == "auto" and (torch.version.cuda or torch.version.hip))):
        return None
    started = Event()
    Thread(target=_start, args=("cuda" if device == "auto" else device, started), name=f"start {device}").start()
    return started


def _start(device: str, started: Event) -> None:
    import torch

    try:
        with suppress(RuntimeError, AssertionError):  # without Python's lock: otherwise imports would wait for the driver
            if device in ("cuda", "cuda:0"):
                torch.ones(1).pin_memory()
    finally:
        started.set()
    with suppress(RuntimeError, AssertionError), torch.inference_mode():
        square = torch.ones((64, 64), device=device, dtype=torch.bfloat16)
        (square @ square).log_softmax(1, dtype=torch.float32)
        heads = square[None, None]
        torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=heads)


def start_products(config: Any, device: str, dtype: torch.dtype) -> None:
    """Multiply, attend and read logits in the shapes of a large model in a thread, while its weights are read.

    A GPU loads a kernel when it is first needed: for eight billion parameters more than a second in all.
    """
    sizes = config.get_text_config()
    width, inner, heads = (int(getattr(sizes, name, 0) or 0) for name in SIZES)
    if device.startswith("cuda") and heads and min(width, inner) >= LARGE_WIDTH:
        head = int(getattr(sizes, "head_dim", 0) or width // heads)
        keys = head * int(getattr(sizes, "num_key_value_heads", 0) or heads)
        shapes = ((width, width), (width, keys), (width, inner), (inner, width), (width, int(sizes.vocab_size)))
        Thread(target=_products, args=(shapes, (heads, head), device, dtype), name=f"products {device}").start()


def _products(shapes: Sequence[tuple[int, int]], heads: tuple[int, int], device: str, dtype: torch.dtype) -> None:
    """Products of many rows, for which a library takes other kernels than for few; and attention by masks."""
    import torch

    def empty(*shape: int) -> torch.Tensor:
        return torch.empty(shape, device=device, dtype=dtype)

    with suppress(RuntimeError), torch.inference_mode():
        states, mask = empty(1, heads[0], ATTENDED, heads[1]), empty(1, 1, ATTENDED, ATTENDED)
        torch.nn.functional.scaled_dot_product_attention(states, states, states, attn_mask=mask)
        for given, made in shapes:
            weight = empty(made, given)
            for rows in MANY_ROWS:
                if rows * made <= MOST_PRODUCTS:
                    torch.nn.functional.linear(empty(rows, given), weight)
        _read_logits(empty(READ_ROWS, shapes[-1][1]).zero_())


def _read_logits(logits: torch.Tensor) -> None:
    """Read logits as a pass does: some rows once, one of them twice."""
    import torch

    rows = torch.arange(len(logits), device=logits.device)
    row = torch.cat([rows, rows[:1]])
    tokens = row % logits.shape[1]
    read = LogProbabilities(logits)
    read.at(row, tokens)
    read.total()
    count_larger(logits, row, logits[row, tokens], rows, rows[:1] + len(rows))
    count_larger(logits, rows, logits[rows, tokens[:-1]], rows, rows[:0])


def check_device_map(device_map: str | None) -> None:
    """Raise an error for a map that is neither a strategy nor a readable JSON file, or without accelerate."""
    if device_map is None:
        return
    if device_map not in STRATEGIES:
        _read(device_map)
    if find_spec("accelerate") is None:
        raise UsageError(
            "--device-map needs the package accelerate, which is not installed: pip install 'tiltmeter[large]'.",
            code="missing-package", package="accelerate",
        )  # fmt: skip


def placing(device_map: str | None, device: str, *, quantized: bool) -> dict[str, Any]:
    """Arguments of `from_pretrained` that load weights to their device at once; empty to load to memory and move then."""
    if device_map is not None:
        where = device_map if device_map in STRATEGIES else _read(device_map)
        return {"device_map": where, "offload_folder": _offload_folder()} if _offloads(where) else {"device_map": where}
    direct = quantized or device.startswith("cuda")
    return {"device_map": {"": device}} if direct and find_spec("accelerate") is not None else {}


def is_placed(module: Any) -> dict[str, str] | None:
    """The map of a model that is spread over devices; None for one on a single device."""
    where = getattr(module, "hf_device_map", None) or {}
    return {name: str(device) for name, device in where.items()} if len(set(map(str, where.values()))) > 1 else None


def device_of(module: Any) -> torch.device:
    """The device that takes a model's input. Weights of offloaded layers are on none."""
    import torch

    devices = (parameter.device for parameter in module.parameters())
    return next((device for device in devices if device.type != "meta"), torch.device("cpu"))


def dtype_of(module: Any) -> torch.dtype:
    """Data type of a model's states: that of its first weights that are real numbers."""
    import torch

    return next((one.dtype for one in module.parameters() if one.is_floating_point()), torch.float32)


def _read(device_map: str) -> dict[str, Any]:
    try:
        where = json.loads(Path(device_map).read_text("utf-8"))
    except (OSError, ValueError):
        where = None
    if not isinstance(where, dict) or not where or not all(isinstance(device, str | int) for device in where.values()):
        raise UsageError(
            f"--device-map is {', '.join(STRATEGIES)}, or a JSON file with a device for each layer, not '{device_map}'.",
            code="unknown-name", option="device_map", name=device_map, names=list(STRATEGIES),
        )  # fmt: skip
    return where


def _offloads(where: str | dict[str, Any]) -> bool:
    return isinstance(where, str) or "disk" in where.values()


def _offload_folder() -> str:
    """A folder of this load alone: two models of one architecture would overwrite each other's weights."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix=f"{OFFLOADED}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
