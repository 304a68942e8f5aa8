"""Timings of a command: importing, loading, inference, estimating, writing, reporting.

Of loading, some parts have names of their own: the `benchmarks`, the `weights`, the `tokenizer`, the `device` (waking it and
moving the weights there), waiting for the `hash` of the files, and the `trial` of the batching methods of the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import tiltmeter

SHOWN = 0.05


class Timings:
    """Seconds by name. What runs inside another part counts for itself alone, so that all parts add up to the whole."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside: list[float] = [0.0]

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        start = time.perf_counter()
        self._inside.append(0.0)
        try:
            yield
        finally:
            whole = time.perf_counter() - start
            self.add(name, whole - self._inside.pop())
            self._inside[-1] += whole

    def add(self, name: str, seconds: float) -> None:
        """Add to a part."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def rounded(self) -> dict[str, float]:
        """Seconds for the manifest."""
        return {name: round(seconds, 3) for name, seconds in self.seconds.items()}


_current: ContextVar[Timings | None] = ContextVar("timings", default=None)


@contextmanager
def recording() -> Iterator[Timings]:
    """Collect the parts of what is done inside. Inside another recording, that one continues."""
    known = _current.get()
    if known is not None:
        yield known
        return
    timings = Timings()
    token = _current.set(timings)
    try:
        yield timings
    finally:
        _current.reset(token)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Time a part of whatever is recorded; without a recording, nothing."""
    known = _current.get()
    if known is None:
        yield
        return
    with known.part(name):
        yield


def timings_so_far() -> dict[str, float]:
    """The seconds of every part of what is recorded, for a manifest."""
    known = _current.get()
    return {} if known is None else known.rounded()


def since_import() -> float:
    """Seconds since the package was first imported."""
    return time.perf_counter() - tiltmeter.BEGUN


def in_words(seconds: Mapping[str, float]) -> str:
    """One line for people.

    >>> in_words({"import": 1.23, "hash": 0.01, "ask": 0.4})
    'import 1.2 s, ask 0.4 s; together 1.6 s'
    """
    parts = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items() if value >= SHOWN)
    return f"{parts}; together {sum(seconds.values()):.1f} s"
