"""Locks between processes: one process at a time writes a folder."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOREVER = -1


class FolderLockedError(Exception):
    """Another process holds the lock."""


@contextmanager
def lock_folder(folder: Path, *, wait: bool) -> Iterator[None]:
    """Hold a folder for this process, through a lock file beside it that goes when the lock is released.

    The lock ends with the process, however that ends. On a file system without locks nothing is locked.

    Args:
        folder: The folder; it need not exist, its parent must.
        wait: Wait until another process has released the folder.

    Raises:
        FolderLockedError: Another process holds the folder, and `wait` is False.
    """
    from filelock import FileLock, Timeout

    place = folder.resolve()
    path = place.with_name(f".tiltmeter-{zlib.crc32(place.name.encode('utf-8', 'surrogateescape')):08x}.lock")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=FOREVER if wait else 0)
    except Timeout:
        raise FolderLockedError(str(folder)) from None
    except OSError:  # a file system without locks
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):  # Windows deletes no open file
            path.unlink()  # before the release: who waits for this file sees that it has gone, and makes a new one
        lock.release()
