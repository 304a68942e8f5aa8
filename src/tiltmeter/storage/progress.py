"""Progress of what takes long: a bar with an ETA in a terminal, a line every half minute elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

Advance = Callable[[float], None]
Watch = Callable[[str, int], AbstractContextManager[Advance]]
LINE_EVERY = 30.0
"""Seconds between two lines where there is no terminal."""
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


def watch_of(watch: Watch | None, progress: bool) -> Watch | None:
    """The display that the caller passed, or the default one if progress was requested."""
    return watch or (progress_bar if progress else None)


@dataclass
class Pace:
    """Steps done of a total, and the time left at the average speed so far, which is steadier than the latest speed."""

    title: str
    total: float
    done: float = 0.0
    note: str = ""
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float | None:
        """None before the first step."""
        elapsed = time.monotonic() - self.begun
        return None if self.done <= 0 else max(0.0, elapsed / self.done * (self.total - self.done))

    @property
    def left(self) -> str:
        """The time left, for display."""
        seconds = self.seconds_left
        return "-:--:--" if seconds is None else str(timedelta(seconds=round(seconds)))

    @property
    def shown_title(self) -> str:
        """The title, with what goes on now."""
        return f"{self.title}, {self.note}" if self.note else self.title

    def line(self) -> str:
        """A line for a log."""
        share = round(100 * self.done / self.total) if self.total else 100
        elapsed = timedelta(seconds=round(time.monotonic() - self.begun))
        return f"{self.shown_title}: {share} % after {elapsed}, {self.left} left"


@contextmanager
def progress_bar(title: str, total: int, console: Any = None) -> Iterator[Advance]:
    """Show progress on standard error, or on a console of rich; nothing on a quiet one."""
    if console is None:
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
    pace = Pace(title, total)
    shown = _bar(pace, console) if console.is_terminal or console.is_jupyter else _lines(pace, console)
    with shown as refresh:

        def advance(items: float, note: str = "") -> None:
            pace.done, pace.note = min(total, pace.done + items), note
            refresh()

        yield advance


@contextmanager
def _bar(pace: Pace, console: Any) -> Iterator[Callable[[], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("ETA {task.fields[left]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=console.quiet) as bars:
        task = bars.add_task(pace.title, total=pace.total, left=pace.left)
        yield lambda: bars.update(task, completed=round(pace.done), description=pace.shown_title, left=pace.left)


@contextmanager
def _lines(pace: Pace, console: Any) -> Iterator[Callable[[], None]]:
    """Write a line at intervals, also while a single step lasts."""
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(LINE_EVERY):
            console.print(pace.line(), soft_wrap=True, markup=False)
            sys.stderr.flush()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield lambda: None
    finally:
        ended.set()
        thread.join()
