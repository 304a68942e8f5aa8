"""Context of every forward pass: no gradients, the requested precision, and detection of out-of-memory errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tiltmeter.errors import ModelError


class OutOfMemoryError(Exception):
    """The batch did not fit; a smaller one may."""


def cap_memory(gpus: float) -> None:
    """Limit this process to its part of a GPU's memory, so that others have theirs."""
    if not 0 < gpus < 1:
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(gpus)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Turn dropout off during inference, and restore the training mode of every part afterwards."""
    training = [part for part in module.modules() if part.training] if module.training else []
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def forwarding(part: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Replace what a part of a model computes. Libraries that place layers on devices have replaced it before."""
    before = vars(part).get("forward")
    part.forward = forward
    try:
        yield
    finally:
        if before is None:
            del part.forward
        else:
            part.forward = before


@contextmanager
def passing(precision: str, module: Any) -> Iterator[None]:
    """Inference in a precision; the old setting of matrix products comes back afterwards, and the model's own mode."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        with torch.inference_mode(), evaluating(module), without_plans():
            yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemoryError(str(error)) from None
    except RuntimeError as error:
        if "can't allocate memory" in str(error):  # how the CPU allocator puts it
            raise OutOfMemoryError(str(error)) from None
        raise
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def without_plans() -> Iterator[None]:
    """No attention by cuDNN, which makes a plan for every new shape: a text that grows has ever new ones.

    In a trace of full BOLD by a small model, 8 of 17.6 s were such plans, and none once every shape had been seen.
    """
    import torch

    before = torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


@contextmanager
def room_for(name: str) -> Iterator[None]:
    """Turn an out-of-memory error that smaller batches cannot avoid into a ModelError: the model itself does not fit."""
    try:
        yield
    except RuntimeError as error:
        import torch

        if not isinstance(error, torch.OutOfMemoryError):
            raise
        raise ModelError(
            f"There is too little free memory on the device for {name}. Free some, give --device cpu, or take a smaller "
            "model.",
            code="out-of-memory",
            model=name,
        ) from None
