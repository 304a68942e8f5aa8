"""Several processes on one NVIDIA GPU at the same time (the Multi-Process Service), where that works; else in turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MPS_CONTROL = ("nvidia-cuda-mps-control", "/usr/local/nvidia/bin/nvidia-cuda-mps-control")
MPS_PLACES = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")


@contextmanager
def shared_gpu() -> Iterator[None]:
    """Lets kernels of several processes run at the same time, where NVIDIA's MPS is there and works; else in turns.

    Steps of a small model leave most of a large GPU idle, and processes that take turns wait for each other.
    """
    places = {name: f"/tmp/calibrate-{name.split('_')[2].lower()}" for name in MPS_PLACES}
    control = next((path for path in MPS_CONTROL if shutil.which(path)), None)
    if control is None:
        print("MPS is not here: processes take turns on the GPU.", flush=True)
        yield
        return
    for place in places.values():
        Path(place).mkdir(exist_ok=True)
    os.environ.update(places)
    subprocess.run([control, "-d"], check=False, timeout=30)
    works = _tries(2)
    print(f"MPS {'works' if works else 'does not work: processes take turns on the GPU'}.", flush=True)
    try:
        if not works:
            _end(control)
        yield
    finally:
        if works:
            _end(control)


def _tries(n: int) -> bool:
    """Whether so many processes can compute at the same time."""
    test = "import torch; print(float((torch.ones(64, 64, device='cuda') @ torch.ones(64, 64, device='cuda')).sum()))"
    some = [
        subprocess.Popen([sys.executable, "-c", test], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(n)
    ]
    try:
        return all(b"262144" in process.communicate(timeout=60)[0] for process in some)
    except subprocess.TimeoutExpired:
        for process in some:
            process.kill()
        return False


def _end(control: str) -> None:
    """Stops MPS; what is started later knows nothing of it."""
    subprocess.run([control], input=b"quit\n", check=False, timeout=30)
    for name in MPS_PLACES:
        os.environ.pop(name, None)
