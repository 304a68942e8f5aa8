"""Device and precision of a model: as the loader chooses them, and as they can be foretold without importing torch."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tiltmeter.errors import UsageError

PRECISIONS = ("auto", "saved", "fp32", "tf32", "bf16", "fp16")
HALVES = {"bfloat16": "bf16", "float16": "fp16"}
GPU_NODES = ("nvidia[0-9]*", "dxg", "kfd")
GPU_LIBRARIES = ("*torch_cuda.*", "*torch_hip.*")


def resolve_precision(wanted: str, device: str, saved_dtype: str) -> str:
    """Return fp32, tf32, bf16 or fp16. `saved`: as the checkpoint was saved; `auto`: so on a GPU, exact on a CPU."""
    on_gpu = device.startswith("cuda")
    if wanted in ("auto", "saved"):
        half = HALVES.get(saved_dtype.removeprefix("torch."))
        return half if half and (on_gpu or wanted == "saved") else "fp32"
    if wanted == "tf32" and not on_gpu:
        raise UsageError(
            "tf32 exists on CUDA GPUs only; use --precision fp32 here.",
            code="inapplicable-option",
            option="precision",
            value=wanted,
            device=device,
        )
    return wanted


class PrecisionWarning(UserWarning):
    """Scores depend on a precision that was not chosen on purpose."""


def warn_of_half(name: str, dtype: str, device: str) -> None:
    """Warn that a module in memory has half-precision weights on a CPU, where `load_model` would compute in fp32."""
    if dtype in HALVES and device == "cpu":
        warnings.warn(
            f"{name} has {dtype} weights and runs on the CPU: slow, and its scores differ from those in fp32. Load it with "
            "dtype=torch.float32, as load_model does, before it is compared with another model.",
            PrecisionWarning,
            stacklevel=4,
        )


def expected_device(wanted: str) -> str:
    """Return the type of device that a model would be loaded to. A GPU counts if torch was built for it."""
    if wanted != "auto":
        return wanted.partition(":")[0]
    torch = sys.modules.get("torch")
    has_gpu = torch.cuda.is_available() if torch and hasattr(torch, "cuda") else _sees_gpu()
    return "cuda" if has_gpu else "cpu"


def _sees_gpu() -> bool:
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "all") in ("", "-1")
    return not hidden and any(any(Path("/dev").glob(node)) for node in GPU_NODES) and _torch_has_gpu()


@cache
def _torch_has_gpu() -> bool:
    torch = find_spec("torch")
    folder = Path(torch.origin).parent / "lib" if torch and torch.origin else None
    return folder is not None and any(any(folder.glob(library)) for library in GPU_LIBRARIES)
