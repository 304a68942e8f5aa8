"""Marks of use in a cache: which processes use it, and when each entry was last used. Pruning leaves alone what they use."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from tiltmeter.storage.cache_layout import announce_old_cells
from tiltmeter.storage.temporary import is_left_over, temporary_beside

FOLDER = "users"
"""The folder in a cache with one marker for each process that uses it. A marker is as old as the process's use."""
SUFFIX = ".process"
"""Markers are named like temporary files, by machine and process, but nothing is half-written while they are there."""


def mark_used(entry: Path, root: Path) -> None:
    """Note that this process uses an entry of a cache: a file, whose time of modification becomes now."""
    register(root)
    with suppress(OSError):  # a cache that cannot be written cannot be pruned either
        os.utime(entry)


def register(root: Path) -> None:
    """Leave a marker of this process in a cache, until the process ends. Old cells in it are announced once."""
    _register(root.absolute(), os.getpid())


@cache
def _register(root: Path, process: int) -> None:
    announce_old_cells(root)
    _sweep(root)
    marker = temporary_beside(root / FOLDER / "process").with_suffix(SUFFIX)
    with suppress(OSError):
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        atexit.register(_unregister, marker, process)


def _unregister(marker: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child runs the handlers of its parent
        with suppress(OSError):
            marker.unlink(missing_ok=True)


def used_since(root: Path) -> float | None:
    """Return when the first of the other running processes began to use a cache; None if there is no other."""
    _sweep(root)
    own = f"-{os.getpid()}-"
    times = []
    for marker in (root / FOLDER).glob(f".*{SUFFIX}"):
        with suppress(OSError):
            if own not in marker.name:
                times.append(marker.stat().st_mtime)
    return min(times, default=None)


def _sweep(root: Path) -> None:
    """Remove the markers of processes that were killed."""
    for marker in (root / FOLDER).glob(f".*{SUFFIX}"):
        if is_left_over(marker.with_suffix(".tmp")):
            with suppress(OSError):
                marker.unlink(missing_ok=True)
