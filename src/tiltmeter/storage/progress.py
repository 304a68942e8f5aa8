"""Progress of what takes long without a model: whoever calls says how it is shown, and whoever works says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Advance = Callable[[float], None]
Watch = Callable[[str, int], AbstractContextManager[Advance]]
_shown: ContextVar[Watch | None] = ContextVar("progress", default=None)


@contextmanager
def showing(watch: Watch | None) -> Iterator[None]:
    """Show the progress of what is done inside."""
    token = _shown.set(watch)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def watched(title: str, total: int) -> Iterator[Advance]:
    """A piece of work of so many steps; shown if someone is watching."""
    watch = _shown.get()
    if watch is None:
        yield lambda _: None
        return
    with watch(title, total) as advance:
        yield advance
