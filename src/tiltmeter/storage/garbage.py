"""Python's garbage collector, which looks at all objects again and again: those of torch and transformers for a second."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Event

YOUNG_OBJECTS = 50_000
"""Objects that a command makes before new ones are looked at; Python's own number is 700 to 2,000."""

_is_command = Event()


@cache
def collect_less() -> None:
    """Set the collector, once, for a process that is a command: nearly all that it imports stays until it ends.

    Objects that `freeze_imports` exempts, and those that exist when the process ends, are never looked at.
    """
    _is_command.set()
    gc.set_threshold(YOUNG_OBJECTS)
    atexit.register(gc.freeze)  # else Python looks for garbage at its end, for a second


@cache
def freeze_imports(step: str) -> None:
    """Exempt all objects from collection in a command (`collect_less`); leave a user's own process as it is.

    Garbage is collected first: it would stay for good, and an import that failed in it holds the frames that called it, with
    the model that these load.

    Args:
        step: What has just imported modules. It is done once for each, and before there is a model, whose cycles would stay.
    """
    if _is_command.is_set():
        gc.collect()
        gc.freeze()


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the collector where very many objects are made that stay, or that need no collector."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
