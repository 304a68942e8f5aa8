"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tiltmeter.families.kit.seam import Advance


@cache
def results() -> Console:
    """Standard output."""
    return _console(stderr=False)


@cache
def errors() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    plain = Console(stderr=stderr, highlight=False)
    # A file or a pipe has no width of its own; 80 columns would break every table.
    return plain if plain.is_terminal else Console(stderr=stderr, highlight=False, width=200)


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Advance]:
    """A bar with an ETA on standard error, if someone is watching."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("ETA"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=errors(), transient=True, disable=not errors().is_terminal) as bars:
        task = bars.add_task(title, total=total)
        done = 0.0

        def advance(items: float, note: str = "") -> None:
            nonlocal done
            done += items
            bars.update(task, completed=min(total, round(done)), description=f"{title}, {note}" if note else title)

        yield advance
