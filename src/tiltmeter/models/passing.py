"""Around every forward pass: no gradients, the precision asked for, and running out of memory told from other faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class OutOfMemoryError(Exception):
    """The batch did not fit; a smaller one may."""


@contextmanager
def passing(precision: str) -> Iterator[None]:
    """Inference in a precision; the old setting of matrix products comes back afterwards."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemoryError(str(error)) from None
    except RuntimeError as error:
        if "can't allocate memory" in str(error):  # how the CPU allocator puts it
            raise OutOfMemoryError(str(error)) from None
        raise
    finally:
        torch.set_float32_matmul_precision(before)
