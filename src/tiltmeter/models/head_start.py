"""What can begin before a model is loaded, while Python is still importing: waking a GPU, and reading the weights.

Neither needs the interpreter, so both happen in threads beside it. Nothing depends on them: whoever needs a GPU or a hash
later finds it there already, or makes it as if nothing had begun.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from tiltmeter.models.hashing import digest_file

DRIVER = "libcuda.so.1"
NODES = ("/dev/nvidiactl", "/dev/dxg")
_imported = Event()


def begin(device: str, weights: Iterable[Path]) -> None:
    """Wakes the GPU that a run may use, and reads files whose hashes it will need."""
    files = list(weights)
    if device.partition(":")[0] in ("auto", "cuda") and any(map(os.path.exists, NODES)):
        Thread(target=_wake, args=(_number(device),), daemon=True).start()
    if files:
        Thread(target=_read, args=(files,), daemon=True).start()


def torch_is_here() -> None:
    """Says that torch is imported: what it needs of a GPU can be made while transformers is imported."""
    _imported.set()


def _number(device: str) -> int:
    number = device.partition(":")[2]
    return int(number) if number.isdecimal() else 0


def _read(files: list[Path]) -> None:
    with suppress(OSError):  # loading says what is wrong with them
        for path in files:
            digest_file(path)


def _wake(number: int) -> None:
    """The driver's context takes a good part of a second, and calls by ctypes let others run meanwhile."""
    try:
        driver = ctypes.CDLL(DRIVER)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        failed = (
            driver.cuInit(0)
            or driver.cuDeviceGet(ctypes.byref(device), number)
            or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        )
    except (OSError, AttributeError):
        return
    if not failed and _imported.wait(60):
        with suppress(Exception):  # what is wrong with the GPU is said by what uses it
            _first_products(number)


def _first_products(number: int) -> None:
    """Loads the libraries of matrix products and their kernels, by a product of each kind of number."""
    import torch

    place = torch.device("cuda", number)
    with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream(place)):  # type: ignore[no-untyped-call]
        for dtype in (torch.float32, torch.bfloat16):
            states = torch.zeros((64, 64), dtype=dtype, device=place)
            states = torch.nn.functional.linear(states, states, states[0])
            states = torch.nn.functional.layer_norm(torch.nn.functional.gelu(states), (64,))
            states.log_softmax(1).sum().item()
