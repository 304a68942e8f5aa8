"""Too little memory: the same step in smaller pieces, until there is nothing left to cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tiltmeter.errors import ModelError
from tiltmeter.models.forward_pass import OutOfMemoryError

ADVICE = "Train fewer weights (--lora 8), or take a smaller model or a larger machine."


@contextmanager
def running_out() -> Iterator[None]:
    """Turn the out-of-memory errors of every device into OutOfMemoryError."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError(str(error)) from None
    except RuntimeError as error:
        if "can't allocate memory" in str(error) or "not enough memory" in str(error):  # how the CPU allocator puts it
            raise OutOfMemoryError(str(error)) from None
        raise


@contextmanager
def no_room_is_the_end(what: str) -> Iterator[None]:
    """Where smaller pieces are no help."""
    try:
        with running_out():
            yield
    except OutOfMemoryError:
        raise ModelError(f"There is too little memory for {what}. {ADVICE}", code="out-of-memory", purpose=what) from None


def smaller(budget: int, shortest: int, longest: int) -> int:
    """Half of the tokens in a piece, with the GPU's memory swept. Refuses where every piece is a single row already."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if budget < 2 * shortest:
        raise ModelError(
            f"There is too little memory for one row of {longest} tokens. Give shorter rows. {ADVICE}",
            code="out-of-memory",
            tokens=longest,
        )
    return budget // 2
