"""Signals that ask for an end, kept until the training is at a place where it can be taken up again."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and a polite kill are remembered, and heeded after the step; a second one does not wait."""
    asked = False

    def remember(*_: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield lambda: False
        return
    before = {which: signal.signal(which, remember) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
